// Package bedrock speaks Amazon Bedrock's Converse protocol: Encode turns an llm.Request into a request body, Decode an
// event stream into llm.Events. It is a function of bytes: it knows no URL, no credentials and no connection; requests
// are signed where they are sent (spec/v2 §20, §21).
//
// What it promises. Equal prefixes of a conversation are equal bytes, but for the marks of its cache. Every history
// encodes: it begins with the user, roles alternate, results follow their calls, nothing is empty, and what the protocol
// or the model has no words for becomes a text note. Thinking goes back as it came, with its signature. A turn is good
// only when its stop reason arrived; calls are given out only then. Both checksums of every frame are verified, and
// everything that a stream can make us remember is bounded.
package bedrock

import (
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// namespace holds our continuation metadata.
const namespace = "bedrock"

// Dialect is what one model expects beyond the common ground. The zero value suits a model of which nothing is known.
type Dialect struct {
	// Thinks says how the option reasoningEffort is written for a Claude.
	Thinking wire.ThinkingMode
	// Claude and Nova say whose model it is: extra fields are in its maker's words.
	Claude, Nova bool
	// Caches is for models that take cache points.
	Caches bool
	// ResultMedia is for models that take images in the results of tools; for others they follow the results.
	ResultMedia bool
}

// NewDialect returns the dialect of a model by its id, which may be that of an inference profile.
func NewDialect(model string, reasons bool) Dialect {
	id := strings.ToLower(model)
	family, version := wire.ParseClaudeName(id)
	d := Dialect{Claude: strings.Contains(id, "claude"), Nova: strings.Contains(id, "nova")}
	d.Caches = d.Nova || version >= 37 || (family == "haiku" && version == 35)
	d.ResultMedia = d.Claude || d.Nova || strings.Contains(id, "llama4")
	if reasons && d.Claude {
		d.Thinking = wire.ThinkingModeOf(id)
	}
	return d
}

// RequestPath is where a request for the model goes, below the base URL.
func (Dialect) RequestPath(model string) string {
	return "model/" + strings.ReplaceAll(url.PathEscape(model), ":", "%3A") + "/converse-stream"
}
