// Package llm holds the provider-neutral words of one model turn: the Request that is sent, the Events that stream
// back, the Error that ends a turn badly, and the Model that turns the one into the others.
//
// A Request lives for seconds. Nothing here is stored: the engine lowers a session to a Request and records the
// Events as session facts (laws 6 in the architecture). Protocol packages below this one (openaichat, …) translate
// to one vendor wire format and back; they do no I/O of their own beyond the transport they are given.
//
// The package imports the standard library and the JSON module only.
package llm

import (
	"context"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// A Model answers one Request with a stream of Events.
//
// The stream ends at its first error, which is always an *Error. A stream that ends without error has yielded
// exactly one Finish, as its last event. Cancelling ctx ends the stream with an *Error of class Aborted, unless the
// cause of the cancellation is itself an *Error (a clock of Watch), which is then yielded as it is.
// A Model is safe for concurrent use; the Request belongs to the caller and is not changed.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Request is one provider turn, complete: nothing else reaches the model.
type Request struct {
	Model    string   // the vendor's model id, as its API wants it
	System   []string // privileged texts in order, never empty strings; each may end a cached prefix
	Messages []Message
	Tools    []ToolDefinition // sorted by name, so that the prefix is byte-stable
	Choice   ToolChoice
	Generate Generation
	Options  map[string]jsontext.Value // provider-semantic options by neutral name ("reasoningEffort"); adapters encode them
	Body     map[string]jsontext.Value // compatibility body fields, laid over the encoded body; protocol-owned keys are refused
	Headers  map[string]string         // extra request headers from the catalog and the configuration
	CacheKey string                    // a stable key of the conversation for vendors that route caches by it; at most 64 bytes
	Cache    Marks                     // where a cached prefix may end, for vendors that must be told
	Clocks   Clocks
	Format   jsontext.Value // JSON schema of a structured answer, whose text is then one JSON value, however the vendor is told; empty: free text
	Session  string         // whose turn it is, so that gateways keep a conversation together; "" for none
	Parent   string         // the session that it works for
}

// Forms says how far a vendor holds the answers of a model to a Request's Format.
type Forms int

// The ways of forms.
const (
	FormsNot    Forms = iota // it must be told by a tool
	FormsAlone               // only where there are no tools
	FormsBeside              // whatever else is asked of the model
)

// Generation holds the sampling and output controls that every vendor knows by some name. Nil means unset.
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

// ToolDefinition is what the model sees of a tool. Schema is a JSON Schema object.
type ToolDefinition struct {
	Name        string
	Description string
	Schema      jsontext.Value
	Form        bool // the input is an answer in a form of the user's, whose schema may not lose anything
	// Hosted, when set, is the vendor's own declaration of a tool that it runs itself, verbatim; Name is then only what
	// the list is sorted by. A protocol that has no such tools leaves it out.
	Hosted jsontext.Value
}

// ToolChoice says whether the model may call tools. The zero value says nothing of it, which lets the model decide.
type ToolChoice struct {
	Mode ChoiceMode
	Name string // with ChooseTool
}

// ChoiceMode is the kind of a ToolChoice.
type ChoiceMode string

// The choice modes.
const (
	ChooseAuto     ChoiceMode = "auto" // said in so many words: some servers take silence for none
	ChooseNone     ChoiceMode = "none"
	ChooseRequired ChoiceMode = "required"
	ChooseTool     ChoiceMode = "tool"
)

// Role says who speaks in a Message.
type Role string

// The roles. RoleSystem in the middle of a conversation is a chronological instruction; protocols without such a
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

// Media is all media of the conversation in its order, also what tools brought.
func (r *Request) Media() (out []Media) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if result, ok := p.(ToolResult); ok {
				out = append(out, mediaOf(result.Content)...)
			}
		}
		out = append(out, mediaOf(m.Parts)...)
	}
	return out
}

func mediaOf(parts []Part) (out []Media) {
	for _, p := range parts {
		if m, ok := p.(Media); ok {
			out = append(out, m)
		}
	}
	return out
}

// Part is a piece of a message: Text, Media, Reasoning, ToolCall or ToolResult.
type Part interface{ part() }

// Text is plain text. In assistant messages Metadata is what the provider attached to it.
type Text struct {
	Text     string
	Metadata Metadata
}

// Media is an image, a document or a sound. Data holds the decoded bytes; URL is set instead when only the provider
// can resolve it.
type Media struct {
	MediaType string
	Data      []byte
	URL       string
	Name      string
}

// Reasoning is the model's thinking. Metadata carries what the vendor needs to accept it again (signatures,
// encrypted content), verbatim.
type Reasoning struct {
	Text     string
	Metadata Metadata
}

// ToolCall is the model's wish to run a tool. Input is a JSON object. A call with Hosted set was run by the provider; if it
// was another than the one that gets the request, Elsewhere is set, too, and the call is only told.
type ToolCall struct {
	ID        string
	Name      string
	Input     jsontext.Value
	Hosted    bool
	Elsewhere bool
	Metadata  Metadata
}

// ToolResult is the one outcome of the call with the same ID. Content holds Text and Media parts only.
// Raw, when set, is a hosted tool's result exactly as the provider sent it.
type ToolResult struct {
	ID       string
	Name     string
	Content  []Part
	IsError  bool
	Hosted   bool
	Raw      jsontext.Value
	Metadata Metadata
}

func (Text) part()       {}
func (Media) part()      {}
func (Reasoning) part()  {}
func (ToolCall) part()   {}
func (ToolResult) part() {}

// Metadata is opaque continuation data by provider namespace. It is kept verbatim and given back only to the model
// that made it.
type Metadata map[string]jsontext.Value
