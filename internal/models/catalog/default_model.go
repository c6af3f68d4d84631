package catalog

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
)

// ErrNoModel reports that no model can be used, since no provider has a key.
var ErrNoModel = errors.New("no model can be used; run cairn auth login PROVIDER, or configure a provider")

// Default returns the model for sessions that name none: the configured one if it can be used, else the newest that
// can, of the makers that SelectMainMakers prefers. A configured name that does not exist is an *UnknownError; no
// usable model is ErrNoModel.
func (c *Catalog) Default() (Model, error) {
	// The configured model, if it can be used.
	if name := c.overlay.Default; name != "" {
		m, err := c.Find(name)
		if err != nil || m.Available {
			return m, err
		}
	}
	// Else the usable models that can work: text in and out, and tools.
	var usable []Model
	for _, m := range c.Available() {
		if !c.overlay.Ambient[m.ProviderID] && m.Status == Active && m.Capabilities.Tools &&
			m.AcceptsInput("text") && slices.Contains(m.Capabilities.Output, "text") {
			usable = append(usable, m)
		}
	}
	// Prefer the main makers, then the newest; the name decides between equal ones, so that the choice is stable.
	if best := c.SelectMainMakers(usable); len(best) > 0 {
		usable = best
	}
	if len(usable) == 0 {
		return Model{}, ErrNoModel
	}
	return slices.MinFunc(usable, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Time.Released, a.Time.Released), strings.Compare(a.Name(), b.Name()))
	}), nil
}

// leadingMakers are preferred where a provider offers models of many makers.
var leadingMakers = []string{"claude", "gpt", "gemini"}

// SelectMainMakers returns the models of leading makers. From a provider without such models it returns those of the
// maker with the most models there. The newest model of a gateway is rarely a sensible default.
func (c *Catalog) SelectMainMakers(models []Model) []Model {
	makers := map[string][]string{} // by provider
	return slices.DeleteFunc(slices.Clone(models), func(m Model) bool {
		main, found := makers[m.ProviderID]
		if !found {
			main = findMainMakers(c.ModelsOf(m.ProviderID))
			makers[m.ProviderID] = main
		}
		return !slices.Contains(main, m.findMaker())
	})
}

// findMainMakers returns the makers for SelectMainMakers, of the models of a provider.
func findMainMakers(models []Model) []string {
	// Count its usable models by maker.
	counts := map[string]int{}
	for _, m := range models {
		if m.Capabilities.Tools && m.Status == Active {
			counts[m.findMaker()]++
		}
	}
	// The leading makers that it offers, or the one with the most models.
	var leading []string
	most := ""
	for _, maker := range slices.Sorted(maps.Keys(counts)) {
		if slices.Contains(leadingMakers, maker) {
			leading = append(leading, maker)
		}
		if counts[maker] > counts[most] {
			most = maker
		}
	}
	if leading == nil {
		return []string{most}
	}
	return leading
}

// maxSmallModelAge bounds the age of a small model.
const maxSmallModelAge = 18 * 30 * 24 * time.Hour

var smallWords = []string{"nano", "flash", "lite", "mini", "haiku", "small", "fast"}

// otherUse are words in the names of models for other purposes than text.
var otherUse = []string{
	"audio", "voxtral", "tts", "realtime", "live", "transcribe", "speech", "image", "guard", "safeguard", "embedding",
	"rerank", "research", "computer",
}

// SmallModel returns a cheap model for titles and summaries of sessions that use the model main: the configured one if
// it can be used; else, among recent text models of the same provider and maker, preferably those that are named as
// small, the best by price and age. It returns false if no model qualifies. A main without ID and family has any maker.
func (c *Catalog) SmallModel(main Model, now time.Time) (Model, bool) {
	providerID, maker := main.ProviderID, c.makerOf(main)
	if m, ok := c.findConfigured(c.overlay.Small); ok {
		return m, true
	}
	if strings.HasPrefix(providerID, "azure") {
		return Model{}, false // the name of a deployment says nothing about its model
	}
	var all, small []Model
	for _, m := range c.ModelsOf(providerID) {
		age := now.UnixMilli() - m.Time.Released
		if !m.Available || m.Status != Active || m.Time.Released == 0 ||
			age > maxSmallModelAge.Milliseconds() || m.sumPrices() == 0 || !m.isTextModel() ||
			maker != "" && m.findMaker() != maker {
			continue
		}
		all = append(all, m)
		if m.isNamed(smallWords) {
			small = append(small, m)
		}
	}
	if len(small) > 0 {
		all = small
	}
	if len(all) == 0 {
		return Model{}, false
	}
	return findCheapest(all, now), true
}

// findConfigured returns the usable model with the configured name, provider/model. The sign # begins a variant, which
// is left out, unless it is part of the model's id.
func (c *Catalog) findConfigured(name string) (Model, bool) {
	for _, name := range []string{name, name[:max(strings.LastIndexByte(name, '#'), 0)]} {
		if !strings.Contains(name, "/") {
			continue
		}
		if m, err := c.Find(name); err == nil && m.Available {
			return m, true
		}
	}
	return Model{}, false
}

// isTextModel reports whether a model is made for text, not for speech, images or transcription.
func (m Model) isTextModel() bool {
	return m.Capabilities.Tools && m.AcceptsInput("text") && slices.Equal(m.Capabilities.Output, []string{"text"}) &&
		!m.isNamed(otherUse)
}

// isNamed reports whether one of the words is part of the model's name.
func (m Model) isNamed(words []string) bool {
	name := strings.ToLower(m.ID + " " + m.Family + " " + m.Title)
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" -_./:", r) }) {
		if slices.Contains(words, word) {
			return true
		}
	}
	return false
}

// makerByFamily are the families whose makers have families with other names.
var makerByFamily = map[string]string{
	"o": "gpt", "codex": "gpt", "chatgpt": "gpt", "ministral": "mistral", "codestral": "mistral", "devstral": "mistral",
	"magistral": "mistral", "pixtral": "mistral", "voxtral": "mistral", "qwq": "qwen", "qvq": "qwen",
}

// openWeights are models of the maker of gpt.
const openWeights = "gpt-oss"

// findMaker returns a word that the models of one maker share: the first of the family's name, or what the model's id
// has before a slash; "" if it is unknown.
func (m Model) findMaker() string {
	word := strings.ToLower(m.Family)
	if strings.HasPrefix(word, openWeights) {
		return openWeights // served by others than their maker
	}
	if i := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		word = word[:i]
	}
	if word == "" {
		if maker, _, ok := strings.Cut(m.ID, "/"); ok {
			word = strings.ToLower(maker)
		}
	}
	return cmp.Or(makerByFamily[word], word)
}

// makerOf returns the maker whose small models may stand in for the model: its own; "" for any, if the maker is unknown
// and all models of the provider have the same one.
func (c *Catalog) makerOf(main Model) string {
	maker := main.findMaker()
	if maker != "" || main.ID == "" {
		return maker
	}
	for _, m := range c.ModelsOf(main.ProviderID) {
		if m.findMaker() == "" {
			continue
		}
		if maker != "" && m.findMaker() != maker {
			return "unknown" // is the maker of no model
		}
		maker = m.findMaker()
	}
	return ""
}

func (m Model) sumPrices() int64 {
	if len(m.Rates) == 0 {
		return 0
	}
	return addSaturating(int64(m.Rates[0].Input), int64(m.Rates[0].Output))
}

// findCheapest returns the model with the lowest score: price counts four times as much as age, each relative to the
// highest of the candidates.
func findCheapest(models []Model, now time.Time) Model {
	age := func(m Model) float64 { return max(float64(now.UnixMilli()-m.Time.Released), 0) }
	maxPrice, maxAge := 1.0, 1.0
	for _, m := range models {
		maxPrice, maxAge = max(maxPrice, float64(m.sumPrices())), max(maxAge, age(m))
	}
	score := func(m Model) float64 { return 0.8*float64(m.sumPrices())/maxPrice + 0.2*age(m)/maxAge }
	return slices.MinFunc(models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(score(a), score(b)), strings.Compare(a.Name(), b.Name()))
	})
}
