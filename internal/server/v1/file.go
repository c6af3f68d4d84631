package v1

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
)

func fileRoutes() []Route {
	return []Route{
		{get, "/file", "file.list", (*API).files},
		{get, "/file/content", "file.read", (*API).fileContent},
		{get, "/file/status", "file.status", (*API).fileStatus},
		{get, "/find", "find.text", (*API).findText},
		{get, "/find/file", "find.files", (*API).findFiles},
	}
}

func (a *API) files(w http.ResponseWriter, r *http.Request) error {
	name, err := needed(r, "path")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) ([]opencode.FileNode, error) {
		list, err := a.places.List(ctx, l, name)
		return list, exchange.In("query", err)
	})
}

func (a *API) fileContent(w http.ResponseWriter, r *http.Request) error {
	name, err := needed(r, "path")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) (opencode.FileContent, error) {
		c, err := a.places.Read(ctx, l, name)
		return c, exchange.In("query", err)
	})
}

// fileStatus is empty, as OpenCode's is: vcs.status says what changed.
func (a *API) fileStatus(w http.ResponseWriter, r *http.Request) error { return none(a, w, r) }

func (a *API) findText(w http.ResponseWriter, r *http.Request) error {
	pattern, err := needed(r, "pattern")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) ([]opencode.Match, error) {
		list, err := a.places.Grep(ctx, l, pattern)
		return list, exchange.In("query", err)
	})
}

// findFiles ranks the files, and the directories if they are wanted, by how well they fit the query.
func (a *API) findFiles(w http.ResponseWriter, r *http.Request) error {
	query, err := needed(r, "query")
	if err != nil {
		return err
	}
	limit, err := exchange.Number(r, "limit", exchange.Span{Default: 10, Least: 1, Most: 200})
	if err != nil {
		return err
	}
	kind, err := exchange.Choice(r, "type", "file", "directory")
	if err != nil {
		return err
	}
	dirs, err := exchange.Choice(r, "dirs", "true", "false")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) ([]string, error) {
		files, err := a.places.Files(ctx, l)
		if err != nil {
			return nil, err
		}
		var names []string
		if kind != "directory" {
			names = files
		}
		if kind == "directory" || kind == "" && dirs != "false" {
			names = append(names, directories(files)...)
		}
		return nearest(names, query, int(limit)), nil
	})
}

// directories returns the directories that hold the files, each with a slash at its end.
func directories(files []string) []string {
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

// nearest returns the names that hold the letters of the query in their order, the best first, at most n.
func nearest(names []string, query string, n int) []string {
	type ranked struct {
		name string
		rank int
	}
	query = strings.ToLower(query)
	var fit []ranked
	for _, name := range names {
		if r := rank(strings.ToLower(name), query); r >= 0 {
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

// rank says how well a name fits a query, both in lower case: 0 is best, -1 not at all.
func rank(name, query string) int {
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
