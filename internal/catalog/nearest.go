package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownError says that something named does not exist, with the names that come nearest, best first.
type UnknownError struct {
	Kind    string // model or provider
	Name    string
	Nearest []string
}

// Error names what was asked for and what may have been meant.
func (e *UnknownError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("unknown %s %.100q", e.Kind, e.Name)
	}
	return fmt.Sprintf("unknown %s %.100q; did you mean %s?", e.Kind, e.Name, strings.Join(e.Nearest, ", "))
}

const (
	maxNearest = 3
	maxCompare = 100 // bytes of a name that are compared
)

// nearest returns up to three of the names that resemble name: those that contain it, then those that few edits
// away from it. The part of a name behind its provider counts as a name too.
func nearest(name string, names []string) []string {
	asked := fold(name)
	if asked == "" {
		return nil
	}
	type candidate struct {
		name string
		edit int
	}
	var found []candidate
	for _, n := range names {
		d := distance(asked, fold(n))
		if _, id, ok := strings.Cut(n, "/"); ok {
			d = min(d, distance(asked, fold(id)))
		}
		limit := max(2, len(asked)/3)
		if strings.Contains(fold(n), asked) {
			d = min(d, limit)
		}
		if d <= limit {
			found = append(found, candidate{n, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.edit-b.edit, strings.Compare(a.name, b.name)) })
	var out []string
	for _, c := range found[:min(len(found), maxNearest)] {
		out = append(out, c.name)
	}
	return out
}

func fold(s string) string { return strings.ToLower(s[:min(len(s), maxCompare)]) }

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
