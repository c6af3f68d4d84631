package cli

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/spelling"
)

// nearest returns up to three names that are like name, the most like ones only: those that it begins, else those that
// differ least, if that is less than a third of their letters.
func nearest(name string, names []string) []string {
	type scored struct {
		name string
		d    int
	}
	var all []scored
	for _, n := range names {
		d := spelling.Distance(name, n)
		if len(name) >= 3 && strings.HasPrefix(n, name) {
			d = 0
		}
		if d*3 <= max(len(name), 3) {
			all = append(all, scored{n, d})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, s := range all[:min(3, len(all))] {
		if s.d == all[0].d {
			out = append(out, s.name)
		}
	}
	return out
}
