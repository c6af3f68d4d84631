package opencode

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/models/catalog"
)

// Provider is a vendor or a model server. It never contains a key.
type Provider struct {
	ID      string                    `json:"id"`
	Name    string                    `json:"name"`
	Source  string                    `json:"source" enum:"env,config,custom,api"` // where it is configured
	Env     []string                  `json:"env"`
	Key     string                    `json:"key,omitzero"` // always empty
	Options map[string]jsontext.Value `json:"options"`
	Models  map[string]ModelInfo      `json:"models"`
}

// ModelInfo describes a model.
type ModelInfo struct {
	ID           string                    `json:"id"`
	ProviderID   string                    `json:"providerID"`
	API          ModelAPI                  `json:"api"`
	Name         string                    `json:"name"`
	Family       string                    `json:"family"`
	Capabilities ModelCapabilities         `json:"capabilities"`
	Cost         ModelCost                 `json:"cost"`
	Limit        catalog.Limit             `json:"limit"`
	Status       catalog.Status            `json:"status" enum:"alpha,beta,deprecated,active"`
	Options      map[string]jsontext.Value `json:"options"`
	Headers      map[string]string         `json:"headers"`
	ReleaseDate  string                    `json:"release_date"`
	Variants     jsontext.Value            `json:"variants"`
}

// ModelAPI is the endpoint of a model; NPM names the protocol as the AI SDK does.
type ModelAPI struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	NPM string `json:"npm"`
}

// ModelCapabilities are a model's abilities.
type ModelCapabilities struct {
	Temperature bool           `json:"temperature"`
	Reasoning   bool           `json:"reasoning"`
	Attachment  bool           `json:"attachment"`
	ToolCall    bool           `json:"toolcall"`
	Input       Modalities     `json:"input"`
	Output      Modalities     `json:"output"`
	Interleaved jsontext.Value `json:"interleaved"`
}

// Modalities are kinds of content.
type Modalities struct {
	Text  bool `json:"text"`
	Audio bool `json:"audio"`
	Image bool `json:"image"`
	Video bool `json:"video"`
	PDF   bool `json:"pdf"`
}

// ModelCost is a price in dollars per million tokens.
type ModelCost struct {
	Input  jsontext.Value `json:"input" is:"number"`
	Output jsontext.Value `json:"output" is:"number"`
	Cache  CacheCost      `json:"cache"`
	Tiers  []TierCost     `json:"tiers,omitzero"`
}

// CacheCost is the price of cached tokens.
type CacheCost struct {
	Read  jsontext.Value `json:"read" is:"number"`
	Write jsontext.Value `json:"write" is:"number"`
}

// TierCost is the price above a context size.
type TierCost struct {
	Input  jsontext.Value `json:"input" is:"number"`
	Output jsontext.Value `json:"output" is:"number"`
	Cache  CacheCost      `json:"cache"`
	Tier   jsontext.Value `json:"tier"`
}

// ProviderOf converts a provider with those of models that belong to it. source is where it is configured.
func ProviderOf(p catalog.Provider, source string, models []catalog.Model) Provider {
	v := Provider{
		ID: p.ID, Name: p.Name, Source: source, Env: listOf(p.Env), Options: map[string]jsontext.Value{},
		Models: map[string]ModelInfo{},
	}
	for _, m := range models {
		if m.ProviderID == p.ID {
			v.Models[m.ID] = ModelInfoOf(m)
		}
	}
	return v
}

func listOf(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// ModelInfoOf converts a model.
func ModelInfoOf(m catalog.Model) ModelInfo {
	v := ModelInfo{
		ID: m.ID, ProviderID: m.ProviderID, API: ModelAPI{m.API.ID, m.API.URL, m.API.Package}, Name: m.Title,
		Family: m.Family,
		Capabilities: ModelCapabilities{
			Temperature: m.Temperature, Reasoning: m.Reasoning, Attachment: m.AcceptsInput("image") || m.AcceptsInput("pdf"),
			ToolCall: m.Capabilities.Tools,
			Input: modalitiesOf(
				m.Capabilities.Input,
			), Output: modalitiesOf(m.Capabilities.Output), Interleaved: jsontext.Value("false"),
		},
		Cost: costOf(
			m.Rates,
		), Limit: m.Limit, Status: m.Status, Options: map[string]jsontext.Value{}, Headers: map[string]string{},
		Variants: variantsOf(m.Variants),
	}
	if m.ReasoningField != "" {
		v.Capabilities.Interleaved, _ = json.Marshal(map[string]string{"field": m.ReasoningField}) // strings only
	}
	if m.Time.Released != 0 {
		v.ReleaseDate = time.UnixMilli(m.Time.Released).UTC().Format(time.DateOnly)
	}
	return v
}

func modalitiesOf(kinds []string) Modalities {
	has := func(kind string) bool { return slices.Contains(kinds, kind) }
	return Modalities{has("text"), has("audio"), has("image"), has("video"), has("pdf")}
}

// variantsOf keeps the order of the variants, in which clients offer them.
func variantsOf(variants []catalog.Variant) jsontext.Value {
	out := []byte{'{'}
	for i, v := range variants {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, v.ID) // valid text because it was JSON
		body, err := json.Marshal(v.Body, json.Deterministic(true))
		if err != nil || v.Body == nil {
			body = emptyOptions
		}
		out = append(append(out, ':'), body...)
	}
	return append(out, '}')
}

var emptyOptions = []byte(`{}`)

func costOf(rates []catalog.Rate) ModelCost {
	zero := jsontext.Value("0")
	cost := ModelCost{Input: zero, Output: zero, Cache: CacheCost{zero, zero}}
	for _, r := range rates {
		var t TierCost
		b, err := json.Marshal(r)
		if err != nil || json.Unmarshal(b, &t) != nil {
			continue
		}
		if t.Tier == nil {
			cost.Input, cost.Output, cost.Cache = t.Input, t.Output, t.Cache
			continue
		}
		cost.Tiers = append(cost.Tiers, t)
	}
	return cost
}
