package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/cairn-dev/cairn/internal/session"
)

// NewWorktree asks for a linked worktree of a repository, in the shape of OpenCode 2.0. Start and Prepare are additive.
type NewWorktree struct {
	ProjectID session.ProjectID `json:"projectID,omitzero"` // that of the location; "" does not check it
	Name      string            `json:"name,omitzero"`      // "" chooses one
	Branch    string            `json:"branch,omitzero"`    // of the worktree, which must not exist; "" is cairn/ and the name
	From      string            `json:"from,omitzero"`      // branch or commit to start at; "" is HEAD of the location
	Directory string            `json:"directory,omitzero"` // in which it is made; "" is the configured one
	Start     string            `json:"start,omitzero"`     // a shell command that runs in it after the configured one
	Prepare   bool              `json:"prepare,omitzero"`   // wait for the end of the commands, instead of running them beside
}

// Worktree is a linked worktree of a repository. All but Directory is additive to OpenCode 2.0.
type Worktree struct {
	Directory string `json:"directory"`
	Name      string `json:"name,omitzero"`
	Branch    string `json:"branch,omitzero"` // "" for none
	Missing   bool   `json:"missing,omitzero"`
	// Problem is why the worktree is not ready: the commands that prepare it failed or have not ended, or its creation or
	// removal was cut off.
	Problem string `json:"problem,omitzero"`
	// Unprepared reports that the worktree is whole, and Problem is about its preparation.
	Unprepared bool `json:"unprepared,omitzero"`
	// Note says what was left out of the preparation that was just made: a command that waits for trust.
	Note     string       `json:"note,omitzero"`
	Sessions []session.ID `json:"sessions,omitzero"` // that work in it, the newest first, at most 100
}

// WorktreeName names a linked worktree of the location by its directory.
type WorktreeName struct {
	ProjectID session.ProjectID `json:"projectID,omitzero"` // that of the location; "" does not check it
	Directory string            `json:"directory"`
	// Force saves uncommitted changes under a reference instead of refusing to remove the worktree.
	Force bool `json:"force,omitzero"`
}

// SavedWork says where the work of a worktree is kept that was removed or reset.
type SavedWork struct {
	Ref    string `json:"ref,omitzero"`    // a commit with it; "" if there was none
	Branch string `json:"branch,omitzero"` // which stays because it has commits that no other one has
}

// ErrNoRepository is the cause of the error that a location is in no git repository.
var ErrNoRepository = errors.New("no git repository")

// Worktrees calls the operations on linked worktrees of the repository of the client's directory.
type Worktrees struct{ Client *Client }

// List returns the linked worktrees.
func (w Worktrees) List(ctx context.Context) ([]Worktree, error) {
	return get[[]Worktree](ctx, w.Client, "/api/worktree", url.Values{})
}

// Create makes a linked worktree.
func (w Worktrees) Create(ctx context.Context, n NewWorktree) (out Worktree, err error) {
	err = w.Client.sendCall(ctx, call{method: http.MethodPost, path: "/api/worktree", in: n, out: &out})
	return out, err
}

// Remove removes a linked worktree.
func (w Worktrees) Remove(ctx context.Context, n WorktreeName) (out SavedWork, err error) {
	err = w.Client.sendCall(ctx, call{method: http.MethodPost, path: "/api/worktree/remove", in: n, out: &out})
	return out, err
}

// Prepare runs the commands that prepare a linked worktree again, and returns it with the problem if they fail.
func (w Worktrees) Prepare(ctx context.Context, n WorktreeName) (out Worktree, err error) {
	err = w.Client.sendCall(ctx, call{method: http.MethodPost, path: "/api/worktree/prepare", in: n, out: &out})
	return out, err
}

// Reset makes a linked worktree as the newest commit of the default branch.
func (w Worktrees) Reset(ctx context.Context, n WorktreeName) (out SavedWork, err error) {
	err = w.Client.sendCall(ctx, call{method: http.MethodPost, path: "/api/worktree/reset", in: n, out: &out})
	return out, err
}
