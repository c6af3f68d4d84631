package catalog

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrNoModel reports that no model can be used, since no provider has a key.
var ErrNoModel = errors.New("no model can be used; run cairn auth login PROVIDER, or configure a provider")

// Default returns the model for sessions that name none: the configured one if it can be used, else the newest that
// can. A configured name that does not exist is an *UnknownError; no usable model is ErrNoModel.
func (c *Catalog) Default() (Model, error) {
	if name := c.overlay.Default; name != "" {
		m, err := c.Find(name)
		if err != nil || m.Available {
			return m, err
		}
	}
	var usable []Model
	for _, m := range c.models {
		if m.Available && !c.overlay.Ambient[m.ProviderID] && m.Status == Active && m.Capabilities.Tools &&
			m.AcceptsInput("text") && slices.Contains(m.Capabilities.Output, "text") {
			usable = append(usable, m)
		}
	}
	if len(usable) == 0 {
		return Model{}, ErrNoModel
	}
	return slices.MinFunc(usable, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Time.Released, a.Time.Released), strings.Compare(a.Name(), b.Name()))
	}), nil
}

// maxSmallModelAge is how old a small model may be.
const maxSmallModelAge = 18 * 30 * 24 * time.Hour

var smallWords = []string{"nano", "flash", "lite", "mini", "haiku", "small", "fast"}

// Small returns a cheap model of the provider for titles and summaries: the configured one if it can be used; else,
// among recent text models of the provider, preferably those that are named as small and can call tools, the best by
// price and age. It returns false if no model qualifies.
func (c *Catalog) Small(providerID string, now time.Time) (Model, bool) {
	if c.overlay.Small != "" {
		if m, err := c.Find(c.overlay.Small); err == nil && m.Available {
			return m, true
		}
	}
	if strings.HasPrefix(providerID, "azure") {
		return Model{}, false // the name of a deployment says nothing about its model
	}
	if m, err := c.Model(providerID, "gpt-5-nano"); err == nil && providerID == "opencode" && m.Available {
		return m, true
	}
	var all, small []Model
	for _, m := range c.models {
		age := now.UnixMilli() - m.Time.Released
		if m.ProviderID != providerID || !m.Available || m.Status != Active || m.Time.Released == 0 ||
			age > maxSmallModelAge.Milliseconds() || m.sumPrices() == 0 || !m.isTextModel() {
			continue
		}
		all = append(all, m)
		if hasSmallName(m) {
			small = append(small, m)
		}
	}
	if len(small) > 0 {
		all = small
	}
	calls := slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return !m.Capabilities.Tools })
	if len(calls) > 0 {
		all = calls // models without tools are often not made for text
	}
	if len(all) == 0 {
		return Model{}, false
	}
	return cheapest(all, now), true
}

// isTextModel reports whether a model is made for text, not for speech, images or transcription.
func (m Model) isTextModel() bool {
	return m.Capabilities.Tools && m.AcceptsInput("text") && slices.Equal(m.Capabilities.Output, []string{"text"})
}

func hasSmallName(m Model) bool {
	name := strings.ToLower(m.ID + " " + m.Family + " " + m.Title)
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" -_./:", r) }) {
		if slices.Contains(smallWords, word) {
			return true
		}
	}
	return false
}

func (m Model) sumPrices() int64 {
	if len(m.Rates) == 0 {
		return 0
	}
	return addSaturating(int64(m.Rates[0].Input), int64(m.Rates[0].Output))
}

// cheapest returns the model with the lowest score: price counts four times as much as age, each relative to the
// highest of the candidates.
func cheapest(models []Model, now time.Time) Model {
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
