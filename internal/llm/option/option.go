// Package option knows the options that configurations and lists of models may hold: what each is called however it is
// spelt, who understands it, and which values it takes (spec/v2 §19.6).
//
// What it promises. An option that it does not know is nobody's fault: it goes to the vendor as it is. Of those that it
// knows, an enumeration is closed only where the vendor's own documentation closes it; elsewhere any word may be one of
// tomorrow. What it says of a wrong value is what would be right, never the value.
package option

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// Domain says who understands an option.
type Domain int

// The domains. The zero value is the vendor's own: it goes into the body as it is.
const (
	Foreign    Domain = iota
	Generation        // sampling and output controls, which every protocol has in some place
	Semantic          // has a meaning that protocols encode
	Connection        // how to reach a provider, wherever it stands; never in a body
	Setting           // the same, among a provider's options; elsewhere it is the vendor's own
	Reserved          // a field of the body that the protocols fill
)

// Option is one option.
type Option struct {
	Name   string // as we spell it; for a foreign one as it was spelt
	Domain Domain
	takes  value
	strict map[string]value // instead of takes, by package: what some vendors close
	of     []string         // the packages whose providers read it; none: all
	but    []string         // and those whose do not
	dead   string           // why nobody reads a setting
}

// Vendor is whom an option is for. The zero value is anybody.
type Vendor struct {
	Package string   // the AI SDK's name of the client
	Efforts []string // further words for how hard a model thinks, which its facts list
}

// Own says why a reserved field is not sent.
const Own = "cairn says it itself"

// packages are the clients of providers that models.dev and configurations may leave unsaid.
var packages = map[string]string{
	"amazon-bedrock": bedrock, "anthropic": anthropic, "azure": azure, "azure-cognitive-services": azure,
	"cerebras": "@ai-sdk/cerebras", "cloudflare-ai-gateway": cloudflare, "cloudflare-workers-ai": cloudflare,
	"github-copilot": copilot, "google": google, "google-vertex": vertex, "google-vertex-anthropic": vertexClaude,
	"groq": groq, "mistral": "@ai-sdk/mistral", "openai": openai, "openrouter": openrouter,
	"perplexity": "@ai-sdk/perplexity", "xai": xai,
}

// The packages that differ in what they take.
const (
	anthropic    = "@ai-sdk/anthropic"
	azure        = "@ai-sdk/azure"
	bedrock      = "@ai-sdk/amazon-bedrock"
	cloudflare   = "ai-gateway-provider"
	compatible   = "@ai-sdk/openai-compatible"
	copilot      = "@ai-sdk/github-copilot"
	google       = "@ai-sdk/google"
	groq         = "@ai-sdk/groq"
	openai       = "@ai-sdk/openai"
	openrouter   = "@openrouter/ai-sdk-provider"
	vertex       = "@ai-sdk/google-vertex"
	vertexClaude = "@ai-sdk/google-vertex/anthropic"
	xai          = "@ai-sdk/xai"
)

// Of returns the vendor of a provider by its id and the package that is said for it, if any. A provider that is known
// by its id and said to be compatible with OpenAI is that known one.
func Of(providerID, pkg string) Vendor {
	if known, ok := packages[providerID]; ok && (pkg == "" || pkg == compatible) {
		pkg = known
	}
	return Vendor{Package: pkg}
}

// Find returns the option of that name, in any spelling: maxTokens, max_tokens and Max-Tokens are one.
func Find(name string) Option {
	if o, ok := table()[redact.FoldName(name)]; ok {
		return o
	}
	return Option{Name: name}
}

// Wrong finds what keeps a value from being one of the option's for a vendor: the member in it that is wrong, dotted,
// "" for the value itself, and what is wanted there. An empty want is nothing; null is always right, and takes a value
// away.
func (o Option) Wrong(v jsontext.Value, at Vendor) (inside, want string) {
	if len(v) == 0 || v.Kind() == 'n' {
		return "", ""
	}
	return o.at(at).wrong(v)
}

// at is what the option takes at a vendor. What is closed for anybody is open at the servers that only speak alike.
func (o Option) at(at Vendor) value {
	takes, closed := o.strict[at.Package]
	if !closed && at.Package != "" && at.Package != compatible {
		takes, closed = o.strict[anybody]
	}
	switch {
	case !closed:
		return o.takes
	case o.Name == effortName || o.Name == "effort":
		takes.words = slices.Concat(takes.words, at.Efforts)
	}
	return takes
}

// Unread says why an option has no effect for a vendor; "" if it has, or may have with some model. own tells that the
// provider stands at an address of the user's own.
func (o Option) Unread(at Vendor, own bool) string {
	switch {
	case o.Domain == Foreign || o.Domain == Generation || o.Domain == Reserved ||
		o.Domain == Semantic && slices.Contains(mixed, at.Package):
		return ""
	case o.dead != "":
		return o.dead
	case own && slices.Contains(placed, o.Name):
		return "the address is said whole, in baseURL"
	case slices.Contains(o.but, at.Package):
		return at.Package + " has nothing like it"
	case len(o.of) == 0 || slices.Contains(o.of, at.Package) || at.Package == "":
		return ""
	}
	return "only providers with " + strings.Join(o.of, " or ") + " read it"
}

// mixed are the clients of providers that have models of many makers, each with words of its own.
var mixed = []string{azure, cloudflare, copilot, vertex}

// placed are the settings that are only parts of a vendor's own address.
var placed = []string{"accountId", "gateway", "resourceName"}
