package v2

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Files is what people see of the files of a location. Nothing of it leaves the location or its checkout, whatever links
// say: that is an error of code denied.
type Files interface {
	ListFiles(ctx context.Context, l session.Location, path string) ([]api.FileEntry, error)
	// FindFiles returns what fits, the best first. What is ignored is not found.
	FindFiles(ctx context.Context, l session.Location, q api.FileQuery) ([]api.FileEntry, error)
}

func (a *API) listFiles(w http.ResponseWriter, r *http.Request) error {
	if a.files == nil {
		return a.none(w, r)
	}
	return located(a, w, r, func(l session.Location) ([]api.FileEntry, error) {
		list, err := a.files.ListFiles(r.Context(), l, r.URL.Query().Get("path"))
		return list, httpio.WithPart("query", err)
	})
}

// The bounds of fs/find.
const (
	defaultFound = 100
	maxFound     = 1000
)

func (a *API) findFiles(w http.ResponseWriter, r *http.Request) error {
	if !r.URL.Query().Has("query") {
		return httpio.Invalid("query", "query", "query must say what is looked for")
	}
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: defaultFound, Min: 1, Max: maxFound})
	if err != nil {
		return err
	}
	kind, err := httpio.ReadChoice(r, "type", api.TypeFile, api.TypeDirectory)
	if err != nil {
		return err
	}
	if a.files == nil {
		return a.none(w, r)
	}
	return located(a, w, r, func(l session.Location) ([]api.FileEntry, error) {
		list, err := a.files.FindFiles(r.Context(), l, api.FileQuery{Query: r.URL.Query().Get("query"), Type: kind, Limit: int(limit)})
		return list, httpio.WithPart("query", err)
	})
}

// none answers for what no location has: references to other projects, and integrations, which are providers here.
func (a *API) none(w http.ResponseWriter, r *http.Request) error {
	return located(a, w, r, func(session.Location) ([]struct{}, error) { return []struct{}{}, nil })
}
