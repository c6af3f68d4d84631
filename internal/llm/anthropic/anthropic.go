// Package anthropic implements the Anthropic Messages protocol: Encode converts an llm.Request to a request body,
// Decode a response body to llm.Events. It works on bytes and knows no URL, no key and no connection.
//
// Equal prefixes of a conversation are equal bytes, except for cache breakpoints. Every history can be encoded: roles
// alternate, results follow their calls, nothing is empty, and content that the protocol cannot express becomes a text
// note. Reasoning is sent back verbatim with its signature, as are the calls and results of hosted tools. A turn
// succeeds only if its stop reason arrived; only then are local calls emitted. Everything that a stream makes the
// decoder keep is bounded.
package anthropic

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Dialect describes the differences of an endpoint and a model. The zero value fits an old Claude, or another model
// behind the same protocol.
type Dialect struct {
	// Thinking selects the encoding of the option reasoningEffort.
	Thinking wire.ThinkingMode
	// NoSampling omits temperature, top_p and top_k, for models that refuse them.
	NoSampling bool
	// NativeFormat requests structured output with output_config; without it, with a tool that the model must call.
	NativeFormat bool
	// SystemMessages sends an instruction in the middle of a conversation in the system role.
	SystemMessages bool
	// Vertex is for Google Vertex, where the model is part of the path.
	Vertex bool
}

// NewDialect returns the dialect of a model by its name in any vendor's spelling.
func NewDialect(model string, reasons bool) Dialect {
	family, version := wire.ParseClaudeName(model)
	d := Dialect{
		NativeFormat:   version >= 45 && family != "",
		SystemMessages: strings.HasPrefix(model, "claude-opus-4-8"),
	}
	if reasons {
		d.Thinking = wire.ThinkingModeOf(model)
	}
	d.NoSampling = d.Thinking == wire.ThinkingAdaptiveXHigh
	return d
}

// RequestPath returns the path of a request for the model, below the base URL.
func (d Dialect) RequestPath(model string) string {
	if d.Vertex {
		return "models/" + model + ":streamRawPredict"
	}
	return "messages"
}
