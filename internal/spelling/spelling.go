// Package spelling finds what a name may have been meant for: models, agents, tools, keys, files and commands are
// named by people and by models, and both misspell.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// longest is how many letters of a name are compared letter by letter; longer names are compared by containment only.
const longest = 128

// Nearest returns at most n of the candidates that name may have been meant for, the best first: those that differ in
// few letters, or of which one contains the other. Upper and lower case count as the same, and what stands behind a
// candidate's first slash, as the model behind its provider, counts as a name too.
func Nearest(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	want := strings.ToLower(name)
	var found []scored
	for _, c := range candidates {
		have := strings.ToLower(c)
		d, near := resembles(want, have)
		if _, behind, ok := strings.Cut(have, "/"); ok {
			if e, also := resembles(want, behind); also && (!near || e < d) {
				d, near = e, true
			}
		}
		if near {
			found = append(found, scored{c, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(a.d-b.d, strings.Compare(a.name, b.name)) })
	var names []string
	for _, f := range found[:min(n, len(found))] {
		names = append(names, f.name)
	}
	return names
}

// resembles reports how far two names are apart, and whether that is near.
func resembles(want, have string) (d int, near bool) {
	d = len(want) + len(have)
	if len(want) <= longest && len(have) <= longest {
		d = Distance(want, have)
	}
	if d <= allowance(max(len(want), len(have))) {
		return d, true
	}
	return d, len(want) >= 3 && len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have))
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
