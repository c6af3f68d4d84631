// Package openaichat speaks the OpenAI Chat Completions protocol, which most vendors understand in some dialect:
// Encode turns an llm.Request into a request body, Decode turns a response body into llm.Events, Classify turns a
// failed response into an *llm.Error. It is a function of bytes: it knows no URL, no key and no connection
// (spec/v2 §20, §21).
//
// What it promises. The body is a deterministic function of request and dialect, so equal prefixes of a conversation
// are equal bytes. Every history encodes: what the protocol has no words for becomes a text note, never an error. A
// turn is good only when its finish marker arrived; tool calls are given out only then. Deltas are valid UTF-8 even
// when a vendor splits a character over two frames. Everything that a stream can make us remember is bounded.
package openaichat

// Dialect is what one vendor's Chat endpoint expects beyond the common ground. The zero value suits an unknown
// OpenAI-compatible server.
type Dialect struct {
	// Namespace is the key under which continuation metadata is kept; empty means "openaiCompatible".
	Namespace string
	// MaxTokensField names the output limit; empty means max_tokens. OpenAI's reasoning models want
	// max_completion_tokens (spec/v2 §27 X35).
	MaxTokensField string
	// ReasoningField is the assistant field in which earlier reasoning is given back; empty means
	// reasoning_content, NoReasoning that it is left out.
	ReasoningField string
	// ForceReasoning adds ReasoningField, empty if need be, to every assistant message (spec/v1 §30.1 rules 6, 7).
	ForceReasoning bool
	// Effort says how the option reasoningEffort is written.
	Effort EffortStyle
	// NoStreamOptions leaves stream_options out, for vendors that refuse it and report the usage anyway.
	NoStreamOptions bool
	// SeedField names the sampling seed; empty means seed.
	SeedField string
	// CacheKey sends the request's cache key as prompt_cache_key.
	CacheKey bool
	// TopK sends top_k, which OpenAI itself refuses.
	TopK bool
	// Router passes OpenRouter's options usage, reasoning, provider and transforms through.
	Router bool
	// Open passes OpenRouter's options through as well: the server may be anybody's, also a gateway that has them.
	Open bool
	// Thinking passes the option thinking through, by which some switch thoughts on or off.
	Thinking bool
	// CallIDs says which tool call ids the vendor accepts.
	CallIDs IDStyle
	// BridgeToolUser puts a short assistant message between tool results and a user message (spec/v1 §30.1 rule 5).
	BridgeToolUser bool
	// CacheField names the field of a piece of content that marks where a cached prefix may end, for vendors in front of
	// models that must be told; empty means that there is none. With it, contents are lists, marked or not.
	CacheField string
	// Schema says how tool schemas are narrowed.
	Schema SchemaStyle
	// Choice says how a model is made to call a tool.
	Choice ChoiceStyle

	cacheTTL string // of marks, in one request
}

// RequestPath is where requests go, below the base URL, whatever the model.
func (d Dialect) RequestPath(string) string { return "chat/completions" }

// NoReasoning as a ReasoningField means that earlier reasoning is never sent back.
const NoReasoning = "-"

// EffortStyle is a way to write the reasoning effort.
type EffortStyle int

// The effort styles.
const (
	EffortPlain  EffortStyle = iota // reasoning_effort: "high"
	EffortObject                    // reasoning: {effort: "high"}
	EffortNone                      // not sent
)

// IDStyle is a set of tool call ids that a vendor accepts.
type IDStyle int

// The id styles.
const (
	AnyID   IDStyle = iota
	WordID          // letters, digits, underscore and hyphen
	NineIDs         // exactly nine letters and digits
)

// ChoiceStyle is a way to say that some tool must be called.
type ChoiceStyle int

// The choice styles.
const (
	ChoiceRequired ChoiceStyle = iota
	ChoiceAny                  // by another word
	ChoiceAuto                 // not at all: the vendor refuses the word and the name of a tool
)

// SchemaStyle is a way to narrow tool schemas (spec/v2 §20.1 LM-7).
type SchemaStyle int

// The schema styles.
const (
	SchemaOpenAI SchemaStyle = iota
	SchemaMoonshot
)

func (d Dialect) metadataNamespace() string {
	if d.Namespace == "" {
		return "openaiCompatible"
	}
	return d.Namespace
}

func (d Dialect) reasoningField() string {
	if d.ReasoningField == "" {
		return "reasoning_content"
	}
	return d.ReasoningField
}
