package provider

import (
	"io"
	"iter"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
)

// Protocol is one wire format in the dialect of one vendor and model; each protocol package has one. It is a function
// of bytes, and knows no URL, no key and no connection.
type Protocol interface {
	// Path is where a request for the model goes, below the base URL. It is written as in a URL and may end in a query.
	Path(model string) string
	// Encode returns the body. Equal requests give equal bytes.
	Encode(req *llm.Request) ([]byte, error)
	// Decode yields the events of a good response, by llm.Model's contract for streams.
	Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error]
}

var _ Protocol = openaichat.Dialect{}

// Wire names a protocol.
type Wire string

// The wires. The zero value is Chat.
const (
	Chat      Wire = ""          // OpenAI Chat Completions, which most vendors understand
	Responses Wire = "responses" // OpenAI Responses
	Messages  Wire = "messages"  // Anthropic Messages
	Gemini    Wire = "gemini"    // Google generateContent
	Converse  Wire = "converse"  // Amazon Bedrock Converse
)

// wireFacts are what a wire asks of every request beyond its body.
type wireFacts struct {
	accept    string            // "" is an event stream of SSE
	keyHeader string            // where a key goes; "" is Authorization: Bearer
	headers   map[string]string // go with every request
	suffixes  []string          // of addresses that people paste whole
}

// speak returns the protocol of the wire for one vendor and model. False means that this build has no package for it.
// A new protocol package gets its line here; what the vendor and the model change about it belongs to its dialect.
func (w Wire) speak(v Vendor, f Facts) (Protocol, bool) {
	switch w {
	case Chat:
		return dialect(v, f), true
	case Responses:
		return openairesponses.Dialect{Reasoning: f.Reasoning, NoCacheKey: v.NoCacheKey}, true
	case Messages:
		d := anthropic.For(f.ModelID, f.Reasoning)
		d.Vertex = v.Scheme == ByGoogle
		d.NativeFormat = forms(v, f) != llm.SchemaUnsupported
		return d, true
	case Gemini:
		return gemini.Dialect{Vertex: v.Scheme == ByGoogle}, true
	case Converse:
		return bedrock.For(f.ModelID, f.Reasoning), true
	default:
		return nil, false
	}
}

// Spoken reports whether there is a package for the wire.
func (w Wire) Spoken() bool {
	_, ok := w.speak(Vendor{}, Facts{})
	return ok
}

func (w Wire) facts() wireFacts {
	switch w {
	case Messages:
		return wireFacts{keyHeader: "X-Api-Key", headers: map[string]string{"Anthropic-Version": "2023-06-01"}, suffixes: []string{"/messages"}}
	case Gemini:
		return wireFacts{keyHeader: "X-Goog-Api-Key"}
	case Converse:
		return wireFacts{accept: "application/vnd.amazon.eventstream"}
	case Responses:
		return wireFacts{suffixes: []string{"/responses"}}
	default:
		return wireFacts{suffixes: []string{"/chat/completions"}}
	}
}

// WireOf returns the wire by which a model is reached: the one that the AI SDK's package of that name speaks, as
// models.dev and configurations name it, and for vendors with several, the one that suits the model. False means that
// nobody here knows the package.
func WireOf(pkg, modelID string) (Wire, bool) {
	switch pkg {
	case "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic":
		return Messages, true
	case "@ai-sdk/google", "@ai-sdk/google-vertex":
		return Gemini, true
	case "@ai-sdk/amazon-bedrock":
		return Converse, true
	case "@ai-sdk/openai", "@ai-sdk/azure":
		return Responses, true
	case "@ai-sdk/github-copilot":
		if copilotResponses(modelID) {
			return Responses, true
		}
		return Chat, true
	case "@ai-sdk/cohere", "@ai-sdk/amazon-bedrock/mantle":
		return Chat, false
	default:
		return Chat, true
	}
}

// WireFor is WireOf for one of the vendor's models. GitHub Copilot's are told apart by their names, whatever package
// they are said to have.
func (v Vendor) WireFor(pkg, modelID string) (Wire, bool) {
	if v.Scheme == ByCopilot {
		pkg = "@ai-sdk/github-copilot"
	}
	return WireOf(pkg, modelID)
}

// copilotResponses reports whether GitHub Copilot wants a model over Responses: GPT 5 and later, but for the mini ones
// of 5 (spec/v2 §21.3).
func copilotResponses(modelID string) bool {
	version, ok := strings.CutPrefix(strings.ToLower(modelID), "gpt-")
	if !ok || strings.HasPrefix(version, "5-mini") {
		return false
	}
	digits := 0
	for digits < len(version) && version[digits] >= '0' && version[digits] <= '9' {
		digits++
	}
	return digits > 1 || digits == 1 && version[0] >= '5'
}
