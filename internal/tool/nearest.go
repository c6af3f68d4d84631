package tool

import (
	"slices"
	"strings"
)

// Nearest returns at most n of the candidates that name may have been meant for, the best first: those that differ in
// few letters, or of which one contains the other. Upper and lower case count as the same.
func Nearest(name string, candidates []string, n int) []string {
	const longest = 128 // letters; longer names are compared by containment only
	type scored struct {
		name string
		d    int
	}
	want := strings.ToLower(name)
	var found []scored
	for _, c := range candidates {
		have := strings.ToLower(c)
		d := len(want) + len(have)
		if len(want) <= longest && len(have) <= longest {
			d = Distance(want, have)
		}
		switch {
		case d <= allowance(max(len(want), len(have))):
		case len(want) >= 3 && len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have)):
		default:
			continue
		}
		found = append(found, scored{c, d})
	}
	slices.SortFunc(found, func(a, b scored) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.name, b.name)
	})
	names := []string{}
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// allowance is how many letters may differ in names of n letters: two, so that swapped neighbours count as near, but
// fewer in short names.
func allowance(n int) int {
	if n < 4 {
		return 1
	}
	return max(2, n/3)
}

// Distance is the number of letters to insert, delete or replace to make a into b. It takes time len(a)*len(b).
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(y) > len(x) {
		x, y = y, x
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			replace := diagonal
			if x[i] != y[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
