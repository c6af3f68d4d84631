// Package openairesponses implements the OpenAI Responses protocol: Encode converts an llm.Request to a request body,
// Decode a response body to llm.Events. It works on bytes and knows no URL, no key and no connection.
//
// The body is a deterministic function of request and dialect, so equal prefixes of a conversation are equal bytes.
// Every history can be encoded: content that the protocol cannot express becomes a text note. A turn succeeds only if
// its final event arrived; only then are tool calls emitted. Encrypted reasoning is sent back verbatim, before what it
// led to and never without it. Nothing depends on the vendor storing an answer, unless the option store enables that.
package openairesponses

// Dialect describes the differences of a vendor's Responses endpoint or of a model. The zero value fits a model without
// reasoning.
type Dialect struct {
	// Namespace is the key of the protocol's metadata; "" is "openai".
	Namespace string
	// Reasoning is set for reasoning models: it requests their encrypted reasoning and omits what they refuse
	// (temperature, top_p).
	Reasoning bool
	// NoCacheKey omits the cache key, for vendors that refuse prompt_cache_key.
	NoCacheKey bool
}

// RequestPath returns the path of requests, below the base URL.
func (d Dialect) RequestPath(string) string { return "responses" }

func (d Dialect) metadataNamespace() string {
	if d.Namespace == "" {
		return "openai"
	}
	return d.Namespace
}

// The metadata keys in the dialect's namespace.
const (
	keyItem        = "itemId"                    // the vendor's id of the output item
	keyLate        = "reasoningLate"             // the encrypted content came after the rest of the answer
	keyEncrypted   = "reasoningEncryptedContent" // the item's reasoning, which only the vendor can read
	keyPhase       = "phase"                     // of a message: commentary or the final answer
	keyAnnotations = "annotations"               // of a message: its sources
)
