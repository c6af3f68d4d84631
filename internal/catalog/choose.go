package catalog

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// ErrNone says that no model can be used: there is no key for any provider.
var ErrNone = errors.New("no model can be used: set a provider's key or configure a provider")

// Default returns the model for whom nobody chose (CT-4): the configured one if it can be used, else the newest that
// can. A configured name that does not exist is an *UnknownError; no usable model at all is ErrNone.
func (c *Catalog) Default() (Model, error) {
	if name := c.overlay.Default; name != "" {
		m, err := c.Find(name)
		if err != nil || m.Available {
			return m, err
		}
	}
	var usable []Model
	for _, m := range c.models {
		if m.Available && !c.overlay.Ambient[m.ProviderID] && m.Status == Active && m.Capabilities.Tools && m.Reads("text") && slices.Contains(m.Capabilities.Output, "text") {
			usable = append(usable, m)
		}
	}
	if len(usable) == 0 {
		return Model{}, ErrNone
	}
	return slices.MinFunc(usable, func(a, b Model) int {
		return cmp.Or(cmp.Compare(b.Time.Released, a.Time.Released), strings.Compare(a.Name(), b.Name()))
	}), nil
}

// smallAge is how old a small model may be.
const smallAge = 18 * 30 * 24 * time.Hour

var smallWords = []string{"nano", "flash", "lite", "mini", "haiku", "small", "fast"}

// Small returns a cheap model of the provider for titles and summaries (CT-5): the configured one if it can be used;
// else, among the provider's young text models, preferably those whose name says that they are small and that
// can call tools, the one that is cheapest and newest. False if there is none.
func (c *Catalog) Small(providerID string, now time.Time) (Model, bool) {
	if c.overlay.Small != "" {
		if m, err := c.Find(c.overlay.Small); err == nil && m.Available {
			return m, true
		}
	}
	if strings.HasPrefix(providerID, "azure") {
		return Model{}, false // what a deployment is called says nothing about the model
	}
	if m, err := c.Model(providerID, "gpt-5-nano"); err == nil && providerID == "opencode" && m.Available {
		return m, true
	}
	var all, small []Model
	for _, m := range c.models {
		age := now.UnixMilli() - m.Time.Released
		if m.ProviderID != providerID || !m.Available || m.Status != Active || m.Time.Released == 0 || age > smallAge.Milliseconds() ||
			m.price() == 0 || !m.writes() {
			continue
		}
		all = append(all, m)
		if saysSmall(m) {
			small = append(small, m)
		}
	}
	if len(small) > 0 {
		all = small
	}
	calls := slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return !m.Capabilities.Tools })
	if len(calls) > 0 {
		all = calls // those that call none are often made for something else than text
	}
	if len(all) == 0 {
		return Model{}, false
	}
	return cheapest(all, now), true
}

// writes reports whether a model is made for text: those that speak, paint or listen are not, whatever they cost.
func (m Model) writes() bool {
	return m.Capabilities.Tools && m.Reads("text") && slices.Equal(m.Capabilities.Output, []string{"text"})
}

func saysSmall(m Model) bool {
	name := strings.ToLower(m.ID + " " + m.Family + " " + m.Title)
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" -_./:", r) }) {
		if slices.Contains(smallWords, word) {
			return true
		}
	}
	return false
}

func (m Model) price() int64 {
	if len(m.Rates) == 0 {
		return 0
	}
	return addSaturating(int64(m.Rates[0].Input), int64(m.Rates[0].Output))
}

// cheapest weighs price four times as much as age, each relative to the highest of the candidates.
func cheapest(models []Model, now time.Time) Model {
	age := func(m Model) float64 { return max(float64(now.UnixMilli()-m.Time.Released), 0) }
	maxPrice, maxAge := 1.0, 1.0
	for _, m := range models {
		maxPrice, maxAge = max(maxPrice, float64(m.price())), max(maxAge, age(m))
	}
	score := func(m Model) float64 { return 0.8*float64(m.price())/maxPrice + 0.2*age(m)/maxAge }
	return slices.MinFunc(models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(score(a), score(b)), strings.Compare(a.Name(), b.Name()))
	})
}
