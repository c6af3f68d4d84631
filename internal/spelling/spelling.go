// Package spelling suggests names for misspelt ones: models, agents, tools, keys, files and commands are named by
// people and by models, and both misspell.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// longest is the length up to which names are compared letter by letter; longer names are compared by containment
// only.
const longest = 128

// FindNearest returns at most n of the candidates that are similar to name, the most similar first: those that differ
// in few letters, or of which one contains the other. Case is ignored. The text after a candidate's first slash, such
// as the model after its provider, counts as a name too.
func FindNearest(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	want := strings.ToLower(name)
	var found []scored
	for _, c := range candidates {
		have := strings.ToLower(c)
		d, near := compareNames(want, have)
		if _, behind, ok := strings.Cut(have, "/"); ok {
			if e, also := compareNames(want, behind); also && (!near || e < d) {
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

// compareNames returns the distance of two names, and whether they are similar.
func compareNames(want, have string) (d int, near bool) {
	d = len(want) + len(have)
	if len(want) <= longest && len(have) <= longest {
		d = Levenshtein(want, have)
	}
	if d <= maxDistance(max(len(want), len(have))) || d == 2 && hasSwappedLetters(want, have) {
		return d, true
	}
	return d, len(want) >= 3 && len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have))
}

// hasSwappedLetters reports whether the names of three letters differ in two neighbours that changed places.
func hasSwappedLetters(a, b string) bool {
	return len(a) == 3 && len(b) == 3 &&
		(a == b[1:2]+b[:1]+b[2:] || a == b[:1]+b[2:]+b[1:2])
}

// maxDistance returns the number of letters that may differ in names of n letters: two, so that swapped neighbours are
// similar, but fewer in short names.
func maxDistance(n int) int {
	if n < 4 {
		return 1
	}
	return max(2, n/3)
}

// Levenshtein returns the edit distance of two texts: the number of letters to insert, delete or replace to make a into
// b. It takes time len(a)*len(b).
func Levenshtein(a, b string) int {
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
