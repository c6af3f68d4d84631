// Package openaichat implements the OpenAI Chat Completions protocol, which most vendors accept in some dialect: Encode
// converts an llm.Request to a request body, Decode a response body to llm.Events. It works on bytes and knows no URL,
// no key and no connection.
//
// The body is a deterministic function of request and dialect, so equal prefixes of a conversation are equal bytes.
// Every history can be encoded: content that the protocol cannot express becomes a text note. A turn succeeds only if
// its finish marker arrived; only then are tool calls emitted. Deltas are valid UTF-8 even if a vendor splits a
// character between two frames. Everything that a stream makes the decoder keep is bounded.
package openaichat

// Dialect describes the differences of a vendor's Chat endpoint. The zero value fits an unknown OpenAI-compatible
// server.
type Dialect struct {
	// Namespace is the key of the protocol's metadata; "" is "openaiCompatible".
	Namespace string
	// MaxTokensField is the field of the output limit; "" is max_tokens. OpenAI's reasoning models require
	// max_completion_tokens.
	MaxTokensField string
	// ReasoningField is the assistant field for earlier reasoning; "" is reasoning_content, and NoReasoning omits it.
	ReasoningField string
	// ForceReasoning adds ReasoningField to every assistant message, empty if there is no reasoning.
	ForceReasoning bool
	// Effort selects the encoding of the option reasoningEffort.
	Effort EffortStyle
	// NoStreamOptions omits stream_options, for vendors that refuse it and report the usage regardless.
	NoStreamOptions bool
	// NoTools omits the tools, for servers that refuse them.
	NoTools bool
	// NoSystem sends the system prompt in the first user message, for templates without a system role.
	NoSystem bool
	// MergeUsers joins neighbouring user messages: the templates of some models refuse them.
	MergeUsers bool
	// SeedField is the field of the sampling seed; "" is seed.
	SeedField string
	// CacheKey sends the request's cache key as prompt_cache_key.
	CacheKey bool
	// TopK sends top_k, which OpenAI itself refuses.
	TopK bool
	// Router sends OpenRouter's options usage, reasoning, provider and transforms.
	Router bool
	// Open sends OpenRouter's options as well, because the server may be a gateway that supports them.
	Open bool
	// Thinking sends the option thinking, with which some vendors switch reasoning on or off.
	Thinking bool
	// CallIDs is the form of call ids that the vendor accepts.
	CallIDs IDStyle
	// BridgeToolUser adds a short assistant message between tool results and a user message.
	BridgeToolUser bool
	// CacheField is the field of a content part that sets a cache breakpoint, for vendors of models that cache only where
	// the request says so; "" if the vendor has no such field. With it, contents are always lists.
	CacheField string
	// Schema selects the subset of JSON Schema for tools.
	Schema SchemaStyle
	// Choice selects the encoding that forces a model to call a tool.
	Choice ChoiceStyle

	cacheTTL string // of the breakpoints in one request
}

// RequestPath returns the path of requests, below the base URL.
func (d Dialect) RequestPath(string) string { return "chat/completions" }

// NoReasoning as ReasoningField omits earlier reasoning.
const NoReasoning = "-"

// EffortStyle is a form of the reasoning effort.
type EffortStyle int

// The effort styles.
const (
	EffortPlain  EffortStyle = iota // reasoning_effort: "high"
	EffortObject                    // reasoning: {effort: "high"}
	EffortNone                      // not sent
)

// IDStyle is a form of call ids.
type IDStyle int

// The id styles.
const (
	AnyID   IDStyle = iota
	WordID          // letters, digits, underscore and hyphen
	NineIDs         // exactly nine letters and digits
)

// ChoiceStyle is a way to force a tool call.
type ChoiceStyle int

// The choice styles.
const (
	ChoiceRequired ChoiceStyle = iota
	ChoiceAny                  // "any" instead of "required"
	ChoiceAuto                 // the vendor refuses to force a call
)

// SchemaStyle is a way to narrow tool schemas.
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
