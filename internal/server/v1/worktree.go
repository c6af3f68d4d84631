package v1

import (
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// listWorktreeOperations are the operations on linked worktrees of a repository.
func (d *dependencies) listWorktreeOperations() []operation.Operation {
	h := worktreeHandlers{d}
	const path = "/experimental/worktree"
	return []operation.Operation{
		operation.New("read GET "+path+" List the worktrees", "worktree.list", h.list),
		operation.New("approve POST "+path+" Create a worktree", "worktree.create", h.create),
		operation.New("approve DELETE "+path+" Remove a worktree", "worktree.remove", h.remove),
		operation.New("approve POST "+path+"/reset Reset a worktree", "worktree.reset", h.reset),
	}
}

type worktreeHandlers struct{ *dependencies }

// newWorktree is the body of worktree.create.
type newWorktree struct {
	Name         string `json:"name,omitzero"`
	StartCommand string `json:"startCommand,omitzero"`
}

// worktreeName is the body of worktree.remove and worktree.reset.
type worktreeName struct {
	Directory string `json:"directory"`
}

// Validate requires the member that OpenCode requires.
func (b *worktreeName) Validate() error { return requireMembers("directory", b.Directory) }

// worktree is OpenCode's description of a worktree.
type worktree struct {
	Name      string `json:"name"`
	Branch    string `json:"branch,omitzero"`
	Directory string `json:"directory"`
}

// Notices about the preparation of a worktree.
type (
	worktreeReady struct {
		Name   string `json:"name"`
		Branch string `json:"branch,omitzero"`
	}
	worktreeFailed struct {
		Message string `json:"message"`
	}
)

func (h worktreeHandlers) list(ctx context.Context, in locationIn) ([]string, error) {
	list, err := h.Worktrees.ListWorktrees(ctx, in.Location.Location, "")
	out := []string{}
	if errors.Is(err, api.ErrNoRepository) {
		return out, nil
	}
	for _, w := range list {
		if !w.Missing {
			out = append(out, w.Directory)
		}
	}
	return out, err
}

// create makes a worktree. The events worktree.ready and worktree.failed say how its preparation ended.
func (h worktreeHandlers) create(ctx context.Context, in struct {
	locationIn
	Body newWorktree `body:"optional"`
},
) (out worktree, err error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return out, err
	}
	done := func(w api.Worktree, err error) {
		n := notice{w.Directory, l.ProjectID, "worktree.ready", worktreeReady{w.Name, w.Branch}}
		if err != nil {
			n.kind, n.properties = "worktree.failed", worktreeFailed{err.Error()}
		}
		h.notices.Send(n)
	}
	n := api.NewWorktree{Name: in.Body.Name, Start: in.Body.StartCommand}
	w, err := h.Worktrees.CreateWorktree(ctx, in.Location.Location, n, done)
	if err != nil {
		return out, refuseWorktree("WorktreeCreateFailedError", err)
	}
	return worktree{w.Name, w.Branch, w.Directory}, nil
}

func (h worktreeHandlers) remove(ctx context.Context, in struct {
	locationIn
	Body worktreeName `body:"required"`
},
) (bool, error) {
	_, err := h.Worktrees.RemoveWorktree(ctx, in.Location.Location, api.WorktreeName{Directory: in.Body.Directory})
	return err == nil, refuseWorktree("WorktreeRemoveFailedError", err)
}

func (h worktreeHandlers) reset(ctx context.Context, in struct {
	locationIn
	Body worktreeName `body:"required"`
},
) (bool, error) {
	_, err := h.Worktrees.ResetWorktree(ctx, in.Location.Location, api.WorktreeName{Directory: in.Body.Directory})
	return err == nil, refuseWorktree("WorktreeResetFailedError", err)
}

// refuseWorktree returns an error for people with OpenCode's status and name.
func refuseWorktree(name string, err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok {
		return &statusError{http.StatusBadRequest, newNamedError(name, e.Error())}
	}
	return err
}
