// Package gemini implements Google's generateContent protocol, of the Gemini API and of Vertex: Encode converts an
// llm.Request to a request body, Decode a response body to llm.Events. It works on bytes and knows no URL, no key and
// no connection.
//
// The body is a deterministic function of request and dialect, so equal prefixes of a conversation are equal bytes.
// Every history can be encoded: content that the protocol cannot express becomes a text note. The protocol has no call
// ids: calls get ids that are unique in their answer, and results find their calls by order and name. Thought
// signatures are sent back on the part that they arrived with. A turn succeeds only if its finish reason arrived; only
// then are calls emitted.
package gemini

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Dialect describes the differences of an endpoint. The zero value is the Gemini API.
type Dialect struct {
	// Namespace is the key of the protocol's metadata; "" is "google".
	Namespace string
	// Vertex is for Google Vertex, which combines its own tools with functions without the setting by which the Gemini API
	// reports their calls.
	Vertex bool
}

// RequestPath returns the path of a request for the model, below the base URL.
func (d Dialect) RequestPath(model string) string {
	return "models/" + url.PathEscape(model) + ":streamGenerateContent?alt=sse"
}

// MixesTools reports whether a model accepts hosted tools together with functions; models before version 3 accept one
// or the other.
func MixesTools(model string) bool { return versionOf(model) >= 30 }

// SchemaSupport returns how far answers of a model conform to a schema: before version 3, not together with functions.
func SchemaSupport(model string) llm.SchemaSupport {
	if MixesTools(model) {
		return llm.SchemaSupported
	}
	return llm.SchemaWithoutTools
}

// versionOf returns ten times the version in a model's name; 0 if it has none.
func versionOf(model string) int {
	_, rest, _ := strings.Cut(model, "gemini-")
	major, _, _ := strings.Cut(rest, "-")
	major, minor, _ := strings.Cut(major, ".")
	n, err := strconv.Atoi(major)
	if err != nil || len(major) > 2 {
		return 0
	}
	if m, err := strconv.Atoi(minor); err == nil && len(minor) == 1 {
		return 10*n + m
	}
	return 10 * n
}

func (d Dialect) metadataNamespace() string {
	if d.Namespace == "" {
		return "google"
	}
	return d.Namespace
}

// The metadata keys in the dialect's namespace.
const (
	keySignature = "thoughtSignature"  // of the part; the vendor requires it back
	keyCallID    = "callId"            // the vendor's id of a call
	keyImage     = "picture"           // marks a generated image
	keyPart      = "part"              // a part of a hosted tool, verbatim
	keyGrounding = "groundingMetadata" // the sources of the answer
	keyURLs      = "urlContextMetadata"
)
