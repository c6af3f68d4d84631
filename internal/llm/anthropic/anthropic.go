// Package anthropic speaks the Anthropic Messages protocol: Encode turns an llm.Request into a request body, Decode a
// response body into llm.Events. It is a function of bytes: it knows no URL, no key and no connection (spec/v2 §20,
// §21).
//
// What it promises. Equal prefixes of a conversation are equal bytes, but for the marks of its cache. Every history
// encodes: roles alternate, results follow their calls, nothing is empty, and what the protocol has no words for becomes
// a text note. Thinking goes back as it came, with its signature, and so do the calls and results of tools that the
// provider runs. A turn is good only when its stop reason arrived; local calls are given out only then. Everything that
// a stream can make us remember is bounded.
package anthropic

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Dialect is what one endpoint and model expect beyond the common ground. The zero value suits an old Claude, or
// another model behind the same protocol.
type Dialect struct {
	// Thinks says how the option reasoningEffort is written.
	Thinking wire.ThinkingMode
	// NoSampling leaves temperature, top_p and top_k out, for models that refuse them.
	NoSampling bool
	// NativeFormat asks for structured output by output_config; without it, by a tool that must be called.
	NativeFormat bool
	// SystemMessages sends an instruction in the middle of a conversation in a role of its own.
	SystemMessages bool
	// Vertex speaks to Google Vertex, where the model stands in the address.
	Vertex bool
}

// NewDialect returns the dialect of a model by its name, however a vendor spells it.
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

// RequestPath is where a request for the model goes, below the base URL.
func (d Dialect) RequestPath(model string) string {
	if d.Vertex {
		return "models/" + model + ":streamRawPredict"
	}
	return "messages"
}
