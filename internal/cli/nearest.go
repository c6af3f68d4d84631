package cli

import (
	"slices"
	"strings"
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
		d := distance(name, n)
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

// distance counts the edits from a to b (Levenshtein), in bytes: names here are ASCII.
func distance(a, b string) int {
	const most = 256 // names are short; what is longer is cut
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
