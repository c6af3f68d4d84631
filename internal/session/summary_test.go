package session

import (
	"strings"
	"testing"
)

// A model's summary replaces another one of a model, never a user's; only a user removes a summary.
func TestSummarized(t *testing.T) {
	own := func(text string) *Summarized { return &Summarized{ProseSummary: ProseSummary{Text: text}} }
	generated := func(text string) *Summarized {
		return &Summarized{ProseSummary: ProseSummary{Text: text, Generated: true}}
	}
	for _, c := range []struct {
		name   string
		events []*Summarized
		want   string
	}{
		{"of a model", []*Summarized{generated("a"), generated("b")}, "b"},
		{"failed", []*Summarized{generated("a"), generated("")}, "a"},
		{"of a user", []*Summarized{generated("a"), own("mine"), generated("b")}, "mine"},
		{"removed", []*Summarized{own("mine"), own("")}, ""},
		{"again by a model", []*Summarized{own("mine"), own(""), generated("b")}, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, got := &Session{}, ""
			for _, e := range c.events {
				s.Apply(e)
			}
			if s.Summary != nil {
				got = s.Summary.Text
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if _, err := NewProseSummary(strings.Repeat("a", MaxSummary+1)); err == nil {
		t.Error("a summary that is too long is accepted")
	}
}
