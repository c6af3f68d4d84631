package search

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
)

// NameQuery selects files and directories by name.
type NameQuery struct {
	Query              string
	Files, Directories bool
	Limit              int
}

// Find returns the paths below the Location that match the query, best first. The path of a directory ends with a
// slash. Ignored files are not found.
func (l Browser) Find(ctx context.Context, w NameQuery) ([]string, error) {
	files, err := l.listFiles(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	if w.Files {
		names = files
	}
	if w.Directories {
		names = append(names, directoriesOf(files)...)
	}
	return rankNames(names, w.Query, w.Limit), nil
}

// directoriesOf returns the directories that contain the files, each with a slash at its end.
func directoriesOf(files []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, f := range files {
		for dir := path.Dir(f); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, dir+"/")
		}
	}
	slices.Sort(out)
	return out
}

// rankNames returns the names that contain the letters of the query in order, best first, at most n.
func rankNames(names []string, query string, n int) []string {
	type ranked struct {
		name string
		rank int
	}
	query = strings.ToLower(query)
	var fit []ranked
	for _, name := range names {
		if r := rankName(strings.ToLower(name), query); r >= 0 {
			fit = append(fit, ranked{name, r})
		}
	}
	slices.SortFunc(fit, func(a, b ranked) int {
		return cmp.Or(a.rank-b.rank, len(a.name)-len(b.name), strings.Compare(a.name, b.name))
	})
	out := []string{}
	for _, f := range fit[:min(len(fit), n)] {
		out = append(out, f.name)
	}
	return out
}

// rankName rates how well a name matches a query, both in lower case: 0 is best, -1 is no match.
func rankName(name, query string) int {
	base := path.Base(name)
	switch {
	case base == query || name == query:
		return 0
	case strings.HasPrefix(base, query):
		return 1
	case strings.Contains(base, query):
		return 2
	case strings.Contains(name, query):
		return 3
	}
	for _, c := range query {
		_, after, found := strings.Cut(name, string(c))
		if !found {
			return -1
		}
		name = after
	}
	return 4
}
