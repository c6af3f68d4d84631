// Package bedrock implements Amazon Bedrock's Converse protocol: Encode converts an llm.Request to a request body,
// Decode an event stream to llm.Events. It works on bytes and knows no URL, no credentials and no connection; package
// provider signs the requests.
//
// Equal prefixes of a conversation are equal bytes, except for cache points. Every history can be encoded: it begins
// with the user, roles alternate, results follow their calls, nothing is empty, and content that the protocol or the
// model cannot express becomes a text note. Reasoning is sent back verbatim with its signature. A turn succeeds only if
// its stop reason arrived; only then are calls emitted. Both checksums of every frame are verified, and everything that
// a stream makes the decoder keep is bounded.
package bedrock

import (
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// namespace is the key of the protocol's metadata.
const namespace = "bedrock"

// Dialect describes the differences of a model. The zero value fits an unknown model.
type Dialect struct {
	// Thinking selects the encoding of the option reasoningEffort for a Claude model.
	Thinking wire.ThinkingMode
	// Claude and Nova identify the model's maker, which defines the names of extra fields.
	Claude, Nova bool
	// Caches is set for models that accept cache points.
	Caches bool
	// ResultMedia is set for models that accept images in tool results; for others they follow the results.
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

// RequestPath returns the path of a request for the model, below the base URL.
func (Dialect) RequestPath(model string) string {
	return "model/" + strings.ReplaceAll(url.PathEscape(model), ":", "%3A") + "/converse-stream"
}
