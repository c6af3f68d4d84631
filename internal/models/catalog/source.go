package catalog

import (
	_ "embed"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed snapshot.json
var snapshot []byte

// defaultPackage names the protocol of a provider that does not name one: OpenAI Chat.
const defaultPackage = "@ai-sdk/openai-compatible"

// gatewayPackage is a client that reaches all models behind its gateway in the same way.
const gatewayPackage = "ai-gateway-provider"

// ReachCheck reports whether the models of an API of the provider can be asked: its protocol is supported and its
// address known.
type ReachCheck func(p Provider, api API) bool

// sourceProvider is a provider in the shape of models.dev.
type sourceProvider struct {
	ID     string                  `json:"id"`
	Name   string                  `json:"name"`
	Env    []string                `json:"env"`
	NPM    string                  `json:"npm"`
	API    string                  `json:"api"`
	Models map[string]*sourceModel `json:"models"`
	Extra  jsontext.Value          `json:",embed"`
}

// sourceModel is a model in the shape of models.dev and of OpenCode's configuration.
type sourceModel struct {
	ID               string                    `json:"id"`
	Name             string                    `json:"name"`
	Family           string                    `json:"family"`
	Attachment       bool                      `json:"attachment"`
	Reasoning        bool                      `json:"reasoning"`
	ReasoningOptions []reasoningOption         `json:"reasoning_options"`
	Temperature      bool                      `json:"temperature"`
	ToolCall         *bool                     `json:"tool_call"`
	Structured       *bool                     `json:"structured_output"`
	Interleaved      jsontext.Value            `json:"interleaved"`
	ReleaseDate      string                    `json:"release_date"`
	Modalities       modalities                `json:"modalities"`
	Cost             sourceCost                `json:"cost"`
	Limit            Limit                     `json:"limit"`
	Status           Status                    `json:"status"`
	Options          map[string]jsontext.Value `json:"options"`
	Headers          map[string]string         `json:"headers"`
	Variants         map[string]jsontext.Value `json:"variants"`
	Variant          string                    `json:"variant"`
	Provider         sourceAPI                 `json:"provider"`

	key string // its key among the provider's models: the id by which users choose it
}

type reasoningOption struct {
	Type   string           `json:"type"`
	Values []jsontext.Value `json:"values"`
	Max    int64            `json:"max"` // of budget_tokens; 0 if unknown
}

type modalities struct {
	Input  []string `json:"input"`
	Output []string `json:"output"`
}

type sourceAPI struct {
	NPM string `json:"npm"`
	API string `json:"api"`
}

type sourceCost struct {
	sourceRate
	Tiers   []sourceRate `json:"tiers"`
	Over200 *sourceRate  `json:"context_over_200k"`
}

type sourceRate struct {
	Input      *Price `json:"input"` // nil if it is not listed, as below
	Output     *Price `json:"output"`
	CacheRead  *Price `json:"cache_read"`
	CacheWrite *Price `json:"cache_write"`
	Tier       *Tier  `json:"tier"`
}

// lenientJSON accepts JSON of other programs.
var lenientJSON = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(decodeCount)),
)

// What is expected instead of an invalid count.
var (
	errFraction = errors.New("a whole number")
	errNegative = errors.New("a whole number, 0 or more")
)

// decodeCount reads a non-negative whole number, also as 1e5 or 100.0.
func decodeCount(dec *jsontext.Decoder, n *int64) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil, f != math.Trunc(f), f > 1<<53:
		return errFraction
	case f < 0:
		return errNegative
	}
	*n = int64(f)
	return nil
}

// toProvider returns the provider with its patch.
func (s *sourceProvider) toProvider(o Overlay) Provider {
	// Merge: the patch comes before the source, the source before the defaults.
	patch, patched := o.Providers[s.ID]
	p := Provider{
		ID:   s.ID,
		Name: firstNonEmpty(patch.Name, s.Name, s.ID),
		Disabled: patch.Disabled || slices.Contains(o.Disabled, s.ID) ||
			(o.Enabled != nil && !slices.Contains(o.Enabled, s.ID)),
		API: API{
			Type: "aisdk", Package: firstNonEmpty(patch.Package, s.NPM, defaultPackage),
			URL: firstNonEmpty(patch.BaseURL, s.API),
		},
		Request: Request{Headers: mergeMaps(nil, patch.Headers), Body: mergeMaps(nil, patch.Body)},
		Env:     s.Env,
	}
	// Policies and configured variables override the source.
	if o.Denied != nil && o.Denied(s.ID) {
		p.Disabled = true
	}
	if patch.Env != nil {
		p.Env = patch.Env
	}
	if len(p.Env) > 0 {
		p.IntegrationID = p.ID
	}
	// A provider is available if its server can be reached and a key is there, or none is needed.
	p.Withheld = o.withheldProvider(s.ID)
	own := patched && (patch.BaseURL != "" || len(p.Env) == 0) // a server that needs no key
	hasKey := o.HasKey != nil && o.HasKey(p.ID, p.Env)
	hasAddress := p.API.URL != "" || p.API.Package != defaultPackage // other packages have a default address
	p.Available = !p.Disabled && p.Withheld == nil && hasAddress && (own || hasKey || hasCredential(p.Request.Headers))
	return p
}

// hasCredential reports whether one of the headers is a credential.
func hasCredential(headers map[string]string) bool {
	for name, value := range headers {
		switch strings.ToLower(name) {
		case "authorization":
			if _, credential, ok := strings.Cut(strings.TrimSpace(value), " "); ok && credential != "" {
				return true
			}
		case "x-api-key", "x-goog-api-key", "api-key":
			if strings.TrimSpace(value) != "" {
				return true
			}
		}
	}
	return false
}

// toModels returns the models, as those of provider p, by id.
func (s *sourceProvider) toModels(p Provider, o Overlay) []Model {
	out := make([]Model, 0, len(s.Models))
	for _, m := range s.Models {
		out = append(out, m.toModel(p, o))
	}
	slices.SortFunc(out, func(a, b Model) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// toModel returns the model as one of provider p. The model's own settings win.
// Values of the model override those of its provider. A gateway speaks its own protocol for every model.
func (s *sourceModel) toModel(p Provider, o Overlay) Model {
	patch := o.Providers[p.ID]
	pkg := firstNonEmpty(s.Provider.NPM, p.API.Package)
	if p.API.Package == gatewayPackage {
		pkg = gatewayPackage
	}
	// What the source says.
	m := Model{
		ID: s.key, ProviderID: p.ID, Family: s.Family, Title: firstNonEmpty(s.Name, s.key),
		API: API{
			ID: firstNonEmpty(s.ID, s.key), Type: p.API.Type, Package: pkg,
			URL: firstNonEmpty(patch.BaseURL, s.Provider.API, p.API.URL), Settings: p.API.Settings,
		},
		Capabilities: Capabilities{
			Tools:  s.ToolCall == nil || *s.ToolCall,
			Input:  s.Modalities.Input,
			Output: s.Modalities.Output,
		},
		Request: Request{Headers: mergeMaps(p.Request.Headers, s.Headers), Variant: s.Variant},
		Time:    Time{Released: parseDate(s.ReleaseDate)},
		Rates:   s.Cost.listRates(),
		CanDisableReasoning: slices.ContainsFunc(
			s.ReasoningOptions, func(o reasoningOption) bool { return o.Type == "toggle" },
		),
		NoPrice:   s.Cost.Input == nil && s.Cost.Output == nil,
		Status:    s.Status,
		Limit:     s.Limit,
		Reasoning: s.Reasoning, ReasoningField: s.reasoningField(), Structured: s.Structured, Temperature: s.Temperature,
		Efforts: s.listEfforts(),
	}
	// Defaults for what it leaves out: text in and out, and in active use.
	if len(m.Capabilities.Input) == 0 {
		m.Capabilities.Input = []string{"text"}
		if s.Attachment {
			m.Capabilities.Input = append(m.Capabilities.Input, "image")
		}
	}
	if len(m.Capabilities.Output) == 0 {
		m.Capabilities.Output = []string{"text"}
	}
	if m.Status == "" {
		m.Status = Active
	}
	// Options and variants are merged last: which vendor's options apply depends on the API above.
	m.Request.Body, m.Dropped = mergeLayers(m.optionVendor(), m.defaultOptions(), p.Request.Body, s.Options)
	m.Variants = s.buildVariants(&m)
	// Enabled says what the configuration permits; Available also whether there is a key and an address.
	m.Enabled = (o.Alpha || m.Status != Alpha) && !slices.Contains(patch.Blacklist, m.ID) &&
		(len(patch.Whitelist) == 0 || slices.Contains(patch.Whitelist, m.ID))
	if patch.BaseURL == "" && s.Provider.API == "" {
		m.Withheld = o.withheldModel(m.Name())
	}
	m.Available = p.Available && m.Enabled && m.Withheld == nil && (o.CanReach == nil || o.CanReach(p, m.API))
	return m
}

func (s *sourceModel) reasoningField() string {
	var in struct {
		Field string `json:"field"`
	}
	if s.Interleaved.Kind() != '{' || json.Unmarshal(s.Interleaved, &in, lenientJSON) != nil {
		return ""
	}
	return in.Field
}

// listRates returns the base rate and then the tiers. The rate over 200,000 tokens counts unless a tier begins there or
// earlier, as in OpenCode: it also counts below a tier that begins later.
func (c sourceCost) listRates() []Rate {
	out := []Rate{c.toRate()}
	covered := false
	for _, t := range c.Tiers {
		if t.Tier == nil || (t.Tier.Type != "" && t.Tier.Type != "context") {
			continue
		}
		r := t.toRate()
		r.Tier = &Tier{Type: "context", Size: t.Tier.Size}
		out = append(out, r)
		covered = covered || t.Tier.Size <= over200
	}
	if c.Over200 != nil && !covered {
		r := c.Over200.toRate()
		r.Tier = &Tier{Type: "context", Size: over200}
		out = append(out, r)
	}
	return out
}

const over200 = 200_000

func (r sourceRate) toRate() Rate {
	priceOf := func(p *Price) Price {
		if p == nil {
			return 0
		}
		return *p
	}
	return Rate{Input: priceOf(r.Input), Output: priceOf(r.Output), Cache: CachePrice{
		Read: priceOf(r.CacheRead), Write: priceOf(r.CacheWrite),
		NoRead: r.CacheRead == nil, NoWrite: r.CacheWrite == nil,
	}}
}

// parseDate parses a date of year, month and day, of which the last ones may be missing.
func parseDate(s string) int64 {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli()
		}
	}
	return 0
}

func firstNonEmpty(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// mergeMaps returns a new map with the entries of over laid over those of base; never nil.
func mergeMaps[V any](base, over map[string]V) map[string]V {
	out := make(map[string]V, len(base)+len(over))
	for _, m := range []map[string]V{base, over} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
