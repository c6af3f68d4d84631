package spelling_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/spelling"
)

func TestNearest(t *testing.T) {
	agents := []string{"build", "plan", "general", "explore"}
	models := []string{"openai/gpt-5", "openai/gpt-5-mini", "anthropic/claude"}
	for _, tt := range []struct {
		name  string
		among []string
		want  []string
	}{
		{"pln", agents, []string{"plan"}},
		{"rnu", []string{"run", "jobs"}, []string{"run"}},
		{"biuld", agents, []string{"build"}},
		{"Plan", agents, []string{"plan"}},
		{"explorer", agents, []string{"explore"}},
		{"generl", agents, []string{"general"}},
		{"x", agents, nil},
		{"", agents, nil},
		{"gpt-5", models, []string{"openai/gpt-5", "openai/gpt-5-mini"}},
		{"openai/gtp-5", models, []string{"openai/gpt-5"}},
		{"cluade", models, []string{"anthropic/claude"}},
		{"aaaa", []string{"aaab", "aaac", "aaad", "aaae"}, []string{"aaab", "aaac"}},
		{
			strings.Repeat("long", 100),
			[]string{"long", strings.Repeat("long", 101)},
			[]string{"long", strings.Repeat("long", 101)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, spelling.FindNearest(tt.name, tt.among, 2)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"list", "lits", 2}, {"kitten", "sitting", 3}, {"ä", "a", 1}} {
		if got, back := spelling.Levenshtein(tt.a, tt.b), spelling.Levenshtein(tt.b, tt.a); got != tt.want ||
			back != tt.want {
			t.Errorf("%q to %q: %d, back %d, want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}
