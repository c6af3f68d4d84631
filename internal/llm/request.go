package llm

import (
	"iter"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Request is one complete provider turn: nothing else reaches the model.
type Request struct {
	Model    string   // the vendor's model id, as its API expects it
	System   []string // privileged texts in order, none of them empty; each may end a cached prefix
	Messages []Message
	Tools    []ToolDefinition // sorted by name, so that the prefix is byte-stable
	Choice   ToolChoice
	Generate Generation
	Clocks   Clocks

	// OutputSchema is the JSON schema of a structured answer: the answer's text is then one JSON value, by whatever means
	// the vendor offers. Empty asks for free text.
	OutputSchema jsontext.Value

	Options map[string]jsontext.Value // options by neutral name ("reasoningEffort"), which the protocols encode
	Body    map[string]jsontext.Value // extra body fields of the configuration; fields that the protocol owns are refused
	Headers map[string]string         // extra request headers of the catalog and the configuration

	CacheKey    string           // a stable key of the conversation for vendors that route caches by it; at most 64 bytes
	Breakpoints CacheBreakpoints // for vendors that cache only where the request says so
	Session     string           // the session's id, so that gateways keep a conversation together; may be empty
	Parent      string           // the id of the session that this one works for; may be empty
}

// CacheBreakpoints are the places at which a cached prefix may end, for vendors that cache only where the request says
// so. They are separate from the conversation: moving a breakpoint changes no message, so the bytes before it stay.
type CacheBreakpoints struct {
	System   int   // how many of the first system texts have one
	Messages []int // indexes of messages, ascending
}

// Clocks bounds the waits of a provider turn. A zero field means its default; a negative one, no bound.
type Clocks struct {
	Connect   time.Duration // until the connection is established
	FirstByte time.Duration // from then until the response headers
	Silence   time.Duration // between two chunks of the body
	Turn      time.Duration // of the whole turn; no bound is the default
}

// The defaults of Clocks.
const (
	DefaultConnect   = 10 * time.Second
	DefaultFirstByte = 60 * time.Second
	DefaultSilence   = 120 * time.Second
)

// SchemaSupport is the degree to which a vendor makes a model's answers conform to Request.OutputSchema.
type SchemaSupport int

// The levels of support.
const (
	SchemaUnsupported  SchemaSupport = iota // the answer has to be the input of a tool call
	SchemaWithoutTools                      // only in requests without tools
	SchemaSupported                         // in every request
)

// Generation holds the sampling and output controls that every vendor supports under some name. Nil means unset.
type Generation struct {
	MaxTokens        int // 0 means unset
	Temperature      *float64
	TopP             *float64
	TopK             *int
	FrequencyPenalty *float64
	PresencePenalty  *float64
	Seed             *int64
	Stop             []string
}

// ToolDefinition is a tool as the model sees it. Schema is a JSON Schema object.
type ToolDefinition struct {
	Name        string
	Description string
	Schema      jsontext.Value

	// StructuredOutput marks a tool whose input is the structured answer itself: no rule of its schema may be dropped.
	StructuredOutput bool

	// Hosted, if set, is the vendor's own declaration, verbatim, of a tool that the provider runs itself. Name is then
	// only the sort key. A protocol without such tools leaves the definition out.
	Hosted jsontext.Value
}

// ToolChoice controls whether the model may or must call tools. The zero value sends nothing, which lets the model
// decide.
type ToolChoice struct {
	Mode ChoiceMode
	Name string // with ChooseTool
}

// ChoiceMode is the kind of a ToolChoice.
type ChoiceMode string

// The choice modes.
const (
	ChooseAuto     ChoiceMode = "auto" // sent explicitly: some servers treat a missing choice as none
	ChooseNone     ChoiceMode = "none"
	ChooseRequired ChoiceMode = "required"
	ChooseTool     ChoiceMode = "tool"
)

// Role is the author of a Message.
type Role string

// The roles. RoleSystem in the middle of a conversation is an instruction from that point on; protocols without such a
// role wrap it.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the conversation, its parts in order.
type Message struct {
	Role  Role
	Parts []Part
}

// CollectMedia returns all media of the conversation in order, including those in tool results.
func (r *Request) CollectMedia() (out []Media) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if result, ok := p.(ToolResult); ok {
				out = append(out, mediaIn(result.Content)...)
			}
		}
		out = append(out, mediaIn(m.Parts)...)
	}
	return out
}

func mediaIn(parts []Part) (out []Media) {
	for _, p := range parts {
		if m, ok := p.(Media); ok {
			out = append(out, m)
		}
	}
	return out
}

// Part is a piece of a message: Text, Media, Reasoning, ToolCall or ToolResult.
type Part interface{ part() }

// Text is plain text. In assistant messages Metadata holds what the provider attached to it.
type Text struct {
	Text     string
	Metadata Metadata
}

// Media is an image, a document or a sound. Data holds the decoded bytes; URL is set instead if only the provider can
// resolve it.
type Media struct {
	MediaType string
	Data      []byte
	URL       string
	Name      string
}

// Reasoning is the model's thinking. Metadata holds, verbatim, what the vendor needs to accept it again: signatures,
// encrypted content.
type Reasoning struct {
	Text     string
	Metadata Metadata
}

// ToolCall is the model's request to run a tool. Input is a JSON object.
type ToolCall struct {
	ID            string
	Name          string
	Input         jsontext.Value
	Hosted        bool // the provider ran the tool itself
	OtherProvider bool // with Hosted: a provider other than this request's ran it, so the call is sent as text
	Metadata      Metadata
}

// ToolResult is the outcome of the call with the same ID. Content holds Text and Media parts only. Raw, if set, is the
// result of a hosted tool exactly as the provider sent it.
type ToolResult struct {
	ID       string
	Name     string
	Content  []Part
	IsError  bool
	Hosted   bool
	Raw      jsontext.Value
	Metadata Metadata
}

// PartsOf yields the parts of type P in their order.
func PartsOf[P Part](parts []Part) iter.Seq[P] {
	return func(yield func(P) bool) {
		for _, p := range parts {
			if part, ok := p.(P); ok && !yield(part) {
				return
			}
		}
	}
}

func (Text) part()       {}
func (Media) part()      {}
func (Reasoning) part()  {}
func (ToolCall) part()   {}
func (ToolResult) part() {}

// Metadata is opaque continuation data by provider namespace. It is stored verbatim and sent only to the model that
// produced it.
type Metadata map[string]jsontext.Value
