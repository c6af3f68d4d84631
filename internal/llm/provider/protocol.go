package provider

import (
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/anthropic"
	"github.com/cairn-dev/cairn/internal/llm/bedrock"
	"github.com/cairn-dev/cairn/internal/llm/gemini"
	"github.com/cairn-dev/cairn/internal/llm/openaichat"
	"github.com/cairn-dev/cairn/internal/llm/openairesponses"
)

// Protocol is one wire format in the dialect of one vendor and model. Each protocol package has one. It works on bytes
// and knows no URL, no key and no connection.
type Protocol interface {
	// RequestPath returns the path of a request for the model, below the base URL. It is escaped and may end in a query.
	RequestPath(model string) string
	// Encode returns the request body. Equal requests give equal bytes.
	Encode(req *llm.Request) ([]byte, error)
	// Decode yields the events of a successful response under the contract of llm.Model.
	Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error]
}

// schemaChecker is a Protocol that refuses some output schemas. A Protocol without it accepts all.
type schemaChecker interface {
	SupportsSchema(schema jsontext.Value) bool
}

// betaLister is a Protocol whose requests name the beta features that they use in a header.
type betaLister interface {
	BetaFeatures(req *llm.Request) []string
}

var (
	_ Protocol      = openaichat.Dialect{}
	_ schemaChecker = gemini.Dialect{}
	_ betaLister    = anthropic.Dialect{}
)

// Wire names a protocol.
type Wire string

// The wires. The zero value is Chat.
const (
	Chat      Wire = ""          // OpenAI Chat Completions, which most vendors accept
	Responses Wire = "responses" // OpenAI Responses
	Messages  Wire = "messages"  // Anthropic Messages
	Gemini    Wire = "gemini"    // Google generateContent
	Converse  Wire = "converse"  // Amazon Bedrock Converse
)

// requestRules are the properties of a wire's requests other than the body.
type requestRules struct {
	accept    string            // "" is a stream of server-sent events
	keyHeader string            // the header of a key; "" is Authorization: Bearer
	headers   map[string]string // sent with every request
	suffixes  []string          // paths that people paste along with the base URL
}

// newProtocol returns the wire's protocol for one vendor and model; false if this build has no package for it. A new
// protocol package gets its line here; changes by vendor and model belong to its dialect.
func (w Wire) newProtocol(v Vendor, f Facts) (Protocol, bool) {
	switch w {
	case Chat:
		return chatDialect(v, f), true
	case Responses:
		return openairesponses.Dialect{Reasoning: f.Reasoning, NoCacheKey: v.NoCacheKey}, true
	case Messages:
		d := anthropic.NewDialect(f.ModelID, f.Reasoning)
		d.Vertex = v.Scheme == AuthGoogle
		d.NativeFormat = schemaSupport(v, f) != llm.SchemaUnsupported
		return d, true
	case Gemini:
		return gemini.Dialect{Vertex: v.Scheme == AuthGoogle}, true
	case Converse:
		return bedrock.NewDialect(f.ModelID, f.Reasoning), true
	default:
		return nil, false
	}
}

// IsSupported reports whether there is a package for the wire.
func (w Wire) IsSupported() bool {
	_, ok := w.newProtocol(Vendor{}, Facts{})
	return ok
}

func (w Wire) requestRules() requestRules {
	switch w {
	case Messages:
		return requestRules{
			keyHeader: "X-Api-Key", headers: map[string]string{"Anthropic-Version": "2023-06-01"},
			suffixes: []string{"/messages"},
		}
	case Gemini:
		return requestRules{keyHeader: "X-Goog-Api-Key"}
	case Converse:
		return requestRules{accept: "application/vnd.amazon.eventstream"}
	case Responses:
		return requestRules{suffixes: []string{"/responses"}}
	default:
		return requestRules{suffixes: []string{"/chat/completions"}}
	}
}

// WireOfPackage returns the wire of a model: that of the AI SDK package, as models.dev and configurations name it, and
// for packages with several, the one for the model. False means an unknown package.
func WireOfPackage(pkg, modelID string) (Wire, bool) {
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

// SelectWire is WireOfPackage for a model of the vendor. GitHub Copilot's wire depends on the model's name, whatever
// package is configured. xAI and MiniMax have a wire of their own where the package implies Chat.
func (v Vendor) SelectWire(pkg, modelID string) (Wire, bool) {
	if v.Scheme == AuthCopilot {
		pkg = "@ai-sdk/github-copilot"
	}
	wire, known := WireOfPackage(pkg, modelID)
	if known && wire == Chat && (v.TableID == "xai" || v.TableID == "minimax") {
		wire = v.Wire
	}
	return wire, known
}

// copilotResponses reports whether GitHub Copilot serves a model over Responses: GPT 5 and later, except the mini
// models of 5.
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
