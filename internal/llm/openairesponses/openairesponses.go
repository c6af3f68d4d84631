// Package openairesponses speaks the OpenAI Responses protocol: Encode turns an llm.Request into a request body, Decode
// turns a response body into llm.Events. It is a function of bytes: it knows no URL, no key and no connection
// (spec/v2 §20, §21).
//
// What it promises. The body is a deterministic function of request and dialect, so equal prefixes of a conversation
// are equal bytes. Every history encodes: what the protocol has no words for becomes a text note, never an error. A
// turn is good only when the answer's own last word arrived; tool calls are given out only then. Encrypted reasoning
// goes back as it came, before what it led to, and never without it. Nothing depends on the vendor keeping an answer,
// unless the option store says that it does.
package openairesponses

// Dialect is what one vendor's Responses endpoint, or one model behind it, expects beyond the common ground. The zero
// value suits a model that does not reason.
type Dialect struct {
	// Namespace is the key under which continuation metadata is kept; empty means "openai".
	Namespace string
	// Reasoning says that the model reasons: its encrypted reasoning is asked for, and what such models refuse
	// (temperature, top_p) is left out.
	Reasoning bool
	// NoCacheKey leaves the request's cache key out, for vendors that refuse prompt_cache_key.
	NoCacheKey bool
}

// RequestPath is where requests go, below the base URL.
func (d Dialect) RequestPath(string) string { return "responses" }

func (d Dialect) metadataNamespace() string {
	if d.Namespace == "" {
		return "openai"
	}
	return d.Namespace
}

// Continuation metadata under the dialect's namespace.
const (
	keyItem        = "itemId"                    // the vendor's id of the output item
	keyEncrypted   = "reasoningEncryptedContent" // the item's reasoning, which only the vendor can read
	keyPhase       = "phase"                     // of a message: commentary or the final answer
	keyAnnotations = "annotations"               // of a message: the sources that it names
)
