// Package option defines the options of configurations and model lists: their names in any spelling, the vendors that
// read them, and the values that they accept.
//
// An unknown option is not an error: it is sent to the vendor unchanged. An enumeration is closed only where the
// vendor's own documentation closes it. A message about an invalid value contains what is valid, never the value.
package option

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// Domain is who reads an option.
type Domain int

// The domains. Foreign options are sent to the vendor unchanged.
const (
	Foreign    Domain = iota
	Generation        // sampling and output controls, which every protocol has
	Semantic          // encoded by the protocols
	Connection        // how to reach a provider, at every level; never sent
	Setting           // a Connection among a provider's options, Foreign elsewhere
	Reserved          // a body field that the protocols own
)

// Option is one option.
type Option struct {
	Name         string // in cairn's spelling; of a foreign option in its own
	Domain       Domain
	accepts      valueSpec
	strict       map[string]valueSpec // closed values that replace accepts, by package
	readers      []string             // the packages whose providers read it; empty: all
	nonReaders   []string             // the packages whose providers do not
	unusedReason string               // why no provider reads a setting
}

// Vendor is the recipient of an option. The zero value is any vendor.
type Vendor struct {
	Package string   // the AI SDK's name of the client
	Efforts []string // further efforts of the model
}

// ReservedReason explains that a reserved field is not sent.
const ReservedReason = "cairn sets it itself"

// packageByProvider maps provider ids to packages that models.dev and configurations may omit.
var packageByProvider = map[string]string{
	"amazon-bedrock": bedrock, "anthropic": anthropic, "azure": azure, "azure-cognitive-services": azure,
	"cerebras": "@ai-sdk/cerebras", "cloudflare-ai-gateway": cloudflare, "cloudflare-workers-ai": cloudflare,
	"github-copilot": copilot, "google": google, "google-vertex": vertex, "google-vertex-anthropic": vertexClaude,
	"groq": groq, "mistral": "@ai-sdk/mistral", "openai": openai, "openrouter": openrouter,
	"perplexity": "@ai-sdk/perplexity", "xai": xai,
}

// The packages with values of their own.
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

// VendorOf returns the vendor of a provider by its id and its configured package, which may be empty. The id of a known
// provider takes precedence over the package for OpenAI-compatible servers.
func VendorOf(providerID, pkg string) Vendor {
	if known, ok := packageByProvider[providerID]; ok && (pkg == "" || pkg == compatible) {
		pkg = known
	}
	return Vendor{Package: pkg}
}

// Find returns the option of that name in any spelling: maxTokens, max_tokens and Max-Tokens are one.
func Find(name string) Option {
	if o, ok := optionTable()[redact.FoldName(name)]; ok {
		return o
	}
	return Option{Name: name}
}

// FindProblem checks a value of the option for a vendor. It returns the path of the invalid member, "" for the value
// itself, and what is valid there; an empty want means that the value is valid. null is always valid: it removes a
// value.
func (o Option) FindProblem(v jsontext.Value, at Vendor) (inside, want string) {
	if len(v) == 0 || v.Kind() == 'n' {
		return "", ""
	}
	return o.acceptedAt(at).findProblem(v)
}

// acceptedAt returns what a vendor accepts. Values that are closed for every vendor are open at compatible servers.
func (o Option) acceptedAt(at Vendor) valueSpec {
	takes, closed := o.strict[at.Package]
	if !closed && at.Package != "" && at.Package != compatible {
		takes, closed = o.strict[everyVendor]
	}
	switch {
	case !closed:
		return o.accepts
	case o.Name == effortName || o.Name == "effort":
		isListed := func(effort string) bool { return slices.Contains(takes.words, effort) }
		takes.words = slices.Concat(takes.words, slices.DeleteFunc(slices.Clone(at.Efforts), isListed))
	}
	return takes
}

// UnusedReason returns why an option has no effect for a vendor; "" if it may have one. hasOwnAddress reports that the
// provider has an address of the user's own.
func (o Option) UnusedReason(at Vendor, hasOwnAddress bool) string {
	switch {
	case o.Domain == Foreign || o.Domain == Generation || o.Domain == Reserved ||
		o.Domain == Semantic && slices.Contains(multiMakerPackages, at.Package):
		return ""
	case o.unusedReason != "":
		return o.unusedReason
	case hasOwnAddress && slices.Contains(addressSettings, o.Name):
		return "baseURL already contains the complete address"
	case slices.Contains(o.nonReaders, at.Package):
		return at.Package + " does not support it"
	case len(o.readers) == 0 || slices.Contains(o.readers, at.Package) || at.Package == "":
		return ""
	}
	return "only providers with " + strings.Join(o.readers, " or ") + " read it"
}

// multiMakerPackages are the packages of providers with models of many makers, each with options of its own.
var multiMakerPackages = []string{azure, cloudflare, copilot, vertex}

// addressSettings are the settings that are parts of a vendor's own address.
var addressSettings = []string{"accountId", "gateway", "resourceName"}
