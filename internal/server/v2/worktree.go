package v2

import (
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// listWorktreeOperations are the operations on linked worktrees of a repository.
func (d *dependencies) listWorktreeOperations() []operation.Operation {
	h := worktreeHandlers{d}
	return []operation.Operation{
		operation.New("read GET /api/worktree List the worktrees of a repository", "worktree.list", h.list).
			WithStatuses(http.StatusNotFound),
		operation.New("approve POST /api/worktree Create a worktree", "worktree.create", h.create).
			WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("approve DELETE /api/worktree Remove a worktree", "worktree.remove", h.remove).
			WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("approve POST /api/worktree/remove Remove a worktree, and say what was saved", "", h.removeAndTell).
			WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("approve POST /api/worktree/prepare Run the commands that prepare a worktree again", "", h.prepare).
			WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("approve POST /api/worktree/reset Make a worktree as the default branch", "", h.reset).
			WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("prompt POST /api/worktree/refresh Do nothing: lists are always read anew", "worktree.refresh", h.refresh),
	}
}

type worktreeHandlers struct{ *dependencies }

func (h worktreeHandlers) list(ctx context.Context, in struct {
	locationIn
	ProjectID session.ProjectID `query:"projectID"`
	All       allFields
},
) ([]api.Worktree, error) {
	list, err := h.Worktrees.ListWorktrees(ctx, in.Location.Location, in.ProjectID)
	if !bool(in.All) && errors.Is(err, api.ErrNoRepository) { // as in OpenCode
		return []api.Worktree{}, nil
	}
	for i, w := range list {
		if !in.All {
			list[i] = api.Worktree{Directory: w.Directory}
		}
	}
	return list, err
}

func (h worktreeHandlers) create(ctx context.Context, in struct {
	locationIn
	All  allFields
	Body api.NewWorktree `body:"required"`
},
) (api.Worktree, error) {
	made, err := h.Worktrees.CreateWorktree(ctx, in.Location.Location, in.Body, nil)
	if !in.All {
		made = api.Worktree{Directory: made.Directory}
	}
	return made, httpio.WithPart("body", err)
}

// worktreeIn names a worktree of the location's repository.
type worktreeIn struct {
	locationIn
	Body api.WorktreeName `body:"required"`
}

var errNoWorktree = httpio.NewInvalid("body", "directory", "directory is missing: it must name a worktree")

func (h worktreeHandlers) remove(ctx context.Context, in worktreeIn) (none operation.None, err error) {
	_, err = h.removeAndTell(ctx, in)
	return none, err
}

func (h worktreeHandlers) removeAndTell(ctx context.Context, in worktreeIn) (api.SavedWork, error) {
	if in.Body.Directory == "" {
		return api.SavedWork{}, errNoWorktree
	}
	saved, err := h.Worktrees.RemoveWorktree(ctx, in.Location.Location, in.Body)
	return saved, httpio.WithPart("body", err)
}

func (h worktreeHandlers) prepare(ctx context.Context, in worktreeIn) (api.Worktree, error) {
	if in.Body.Directory == "" {
		return api.Worktree{}, errNoWorktree
	}
	out, err := h.Worktrees.PrepareWorktree(ctx, in.Location.Location, in.Body)
	return out, httpio.WithPart("body", err)
}

func (h worktreeHandlers) reset(ctx context.Context, in worktreeIn) (api.SavedWork, error) {
	if in.Body.Directory == "" {
		return api.SavedWork{}, errNoWorktree
	}
	saved, err := h.Worktrees.ResetWorktree(ctx, in.Location.Location, in.Body)
	return saved, httpio.WithPart("body", err)
}

// projectName names a project.
type projectName struct {
	ProjectID session.ProjectID `json:"projectID"`
}

func (h worktreeHandlers) refresh(ctx context.Context, in struct {
	locationIn
	Body projectName `body:"required"`
},
) (none operation.None, err error) {
	if in.Body.ProjectID == "" {
		return none, httpio.NewInvalid("body", "projectID", "projectID is missing: it must name a project")
	}
	_, err = h.Worktrees.ListWorktrees(ctx, in.Location.Location, in.Body.ProjectID)
	if errors.Is(err, api.ErrNoRepository) {
		err = nil
	}
	return none, err
}
