package v2_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// outsideWorktrees are those of a location without a repository.
type outsideWorktrees struct{ noWorktrees }

func (outsideWorktrees) ListWorktrees(context.Context, session.Location, session.ProjectID) ([]api.Worktree, error) {
	return nil, session.Errorf(session.CodeInvalid, "/work is in no git repository").Because(api.ErrNoRepository)
}

func (outsideWorktrees) RemoveWorktree(context.Context, session.Location, api.WorktreeName) (api.SavedWork, error) {
	return api.SavedWork{}, session.Errorf(session.CodeConflict, "the worktree /t is being removed")
}

// Outside of a repository OpenCode's clients get an empty list, and cairn's the reason. A worktree that is busy is a
// conflict, one that is missing is not found.
func TestWorktreeRefusals(t *testing.T) {
	a := v2.New(v2.Config{Locations: places{}, Worktrees: outsideWorktrees{}, Directory: work})
	defer a.Close()
	handler := a.NewHandler()
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		want               string
	}{
		"list":            {http.MethodGet, "/api/worktree", "", 200, "[]"},
		"refresh":         {http.MethodPost, "/api/worktree/refresh", `{"projectID":"p"}`, 204, ""},
		"remove":          {http.MethodDelete, "/api/worktree", `{"directory":"/t"}`, 409, "is being removed"},
		"remove and tell": {http.MethodPost, "/api/worktree/remove", `{"directory":"/t"}`, 409, "is being removed"},
		"prepare":         {http.MethodPost, "/api/worktree/prepare", `{"directory":"/t"}`, 404, "/t"},
		"prepare nothing": {http.MethodPost, "/api/worktree/prepare", `{}`, 400, "directory is missing"},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		if c.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.want) {
			t.Errorf("%s: HTTP %d %s", name, rec.Code, rec.Body)
		}
	}
	client := &api.Client{HTTP: &http.Client{Transport: api.Local(handler)}}
	if _, err := (api.Worktrees{Client: client}).List(t.Context()); err == nil || !strings.Contains(err.Error(), "in no git repository") {
		t.Error(err)
	}
}
