package v1

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
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
		return list, httpio.WithPart("query", err)
	})
}

func (a *API) fileContent(w http.ResponseWriter, r *http.Request) error {
	name, err := needed(r, "path")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) (opencode.FileContent, error) {
		c, err := a.places.Read(ctx, l, name)
		return c, httpio.WithPart("query", err)
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
		return list, httpio.WithPart("query", err)
	})
}

// findFiles ranks the files, and the directories if they are wanted, by how well they fit the query.
func (a *API) findFiles(w http.ResponseWriter, r *http.Request) error {
	query, err := needed(r, "query")
	if err != nil {
		return err
	}
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: 10, Min: 1, Max: 200})
	if err != nil {
		return err
	}
	kind, err := httpio.ReadChoice(r, "type", "file", "directory")
	if err != nil {
		return err
	}
	dirs, err := httpio.ReadChoice(r, "dirs", "true", "false")
	if err != nil {
		return err
	}
	return offer(a, w, r, func(ctx context.Context, l session.Location) ([]string, error) {
		return a.places.Find(ctx, l, Wanted{
			Query: query, Files: kind != "directory", Directories: kind == "directory" || kind == "" && dirs != "false", Limit: int(limit),
		})
	})
}
