// Package gemini speaks Google's generateContent protocol, of the Gemini API and of Vertex: Encode turns an llm.Request
// into a request body, Decode turns a response body into llm.Events. It is a function of bytes: it knows no URL, no key
// and no connection (spec/v2 §20, §21).
//
// What it promises. The body is a deterministic function of request and dialect, so equal prefixes of a conversation
// are equal bytes. Every history encodes: what the protocol has no words for becomes a text note, never an error. The
// protocol has no call ids: calls get ids that are unique in their answer, and results find their calls again by order
// and name. Thought signatures go back on the part that they came with. A turn is good only when its finish reason
// arrived; tool calls are given out only then.
package gemini

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Dialect is what one endpoint expects beyond the common ground. The zero value is the Gemini API's.
type Dialect struct {
	// Namespace is the key under which continuation metadata is kept; empty means "google".
	Namespace string
	// Vertex is Google's endpoint of that name: it takes its own tools beside functions as they are, and does not know the
	// setting by which the Gemini API gives their calls back.
	Vertex bool
}

// RequestPath is where a request for the model goes, below the base URL.
func (d Dialect) RequestPath(model string) string {
	return "models/" + url.PathEscape(model) + ":streamGenerateContent?alt=sse"
}

// MixesTools reports whether a model takes the vendor's own tools beside functions: before version 3 it takes either.
func MixesTools(model string) bool { return versionOf(model) >= 30 }

// SchemaSupport says how far answers of a model are held to a schema: before version 3, none beside functions.
func SchemaSupport(model string) llm.SchemaSupport {
	if MixesTools(model) {
		return llm.SchemaSupported
	}
	return llm.SchemaWithoutTools
}

// versionOf is ten times the version in a model's name; 0 if there is none.
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

// Continuation metadata under the dialect's namespace.
const (
	keySignature = "thoughtSignature"  // of the part, which the vendor wants back with it
	keyCallID    = "callId"            // of a call, where the vendor has ids
	keyImage     = "picture"           // a result is a picture that the model made
	keyPart      = "part"              // a part of a tool that the vendor ran, verbatim
	keyGrounding = "groundingMetadata" // what the answer was found in
	keyURLs      = "urlContextMetadata"
)
