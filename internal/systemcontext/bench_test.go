//go:build !race

package systemcontext

import (
	"fmt"
	"strings"
	"testing"
)

// unchanged returns a context of values that were read before, as producers return it.
func unchanged(n int) Context {
	type file struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	c := make(Context, n)
	for i := range c {
		c[i] = Make(Spec[[]file]{
			Key:      fmt.Sprintf("bench/source-%d", i),
			Value:    []file{{fmt.Sprintf("/project/%d/AGENTS.md", i), strings.Repeat("Use tabs.\n", 100)}},
			Baseline: func(f []file) string { return f[0].Content },
			Update:   func(_, f []file) string { return f[0].Content },
			Removal:  func([]file) string { return "gone" },
		})
	}
	return c
}

// Comparing sources that did not change allocates nothing for each of them.
func TestUnchangedSourcesAllocateNothing(t *testing.T) {
	count := func(n int) float64 {
		c := unchanged(n)
		g, err := Initialize(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(100, func() {
			if o, err := Reconcile(t.Context(), c, g.Snapshot); err != nil || o.Kind != OutcomeUnchanged {
				t.Fatal(o.Kind, err)
			}
		})
	}
	if one, fifty := count(1), count(50); fifty > one+5 {
		t.Errorf("1 source costs %v allocations, 50 cost %v", one, fifty)
	}
}

func BenchmarkReconcileUnchanged(b *testing.B) {
	c := unchanged(50)
	g, err := Initialize(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if o, err := Reconcile(b.Context(), c, g.Snapshot); err != nil || o.Kind != OutcomeUnchanged {
			b.Fatal(o.Kind, err)
		}
	}
}
