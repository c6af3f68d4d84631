package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

func vcsRoutes() []Route {
	return []Route{
		{get, "/vcs", "vcs.get", (*API).branch},
		{get, "/vcs/status", "vcs.status", (*API).changes},
		{get, "/vcs/diff", "vcs.diff", (*API).diffs},
		{get, "/vcs/diff/raw", "vcs.diff.raw", (*API).rawDiff},
		{post, "/vcs/apply", "vcs.apply", (*API).applyPatch},
	}
}

// branch says what is checked out, and has the streams told when that changes. What there is not is left out, as the document
// has it; OpenCode sends null.
func (a *API) branch(w http.ResponseWriter, r *http.Request) error {
	return offer(a, w, r, func(ctx context.Context, l session.Location) (b branches, err error) {
		a.heads.know(a, l.Directory)
		b.Branch, b.Standard, err = a.places.Branch(ctx, l)
		return b, err
	})
}

type branches struct {
	Branch   string `json:"branch,omitzero"`
	Standard string `json:"default_branch,omitzero"`
}

func (a *API) changes(w http.ResponseWriter, r *http.Request) error {
	return a.compared(w, r, Compare{})
}

// diffs shows changes with their patches. mode git compares with the last commit, branch with where the default branch
// was left.
func (a *API) diffs(w http.ResponseWriter, r *http.Request) error {
	mode, err := needed(r, "mode")
	if err != nil {
		return err
	}
	if mode != "git" && mode != "branch" {
		return httpio.Invalid("query", "mode", "mode must be git or branch, got %q", httpio.Clip(mode, 40))
	}
	lines, err := httpio.ReadNumber(r, "context", httpio.Range{Default: 3, Min: 0, Max: 100_000})
	if err != nil {
		return err
	}
	return a.compared(w, r, Compare{Branch: mode == "branch", Patches: true, Context: int(lines)})
}

func (a *API) compared(w http.ResponseWriter, r *http.Request, with Compare) error {
	return offer(a, w, r, func(ctx context.Context, l session.Location) ([]opencode.ChangedFile, error) {
		list, err := a.places.Changes(ctx, l, with)
		if list == nil {
			list = []opencode.ChangedFile{}
		}
		return list, err
	})
}

func (a *API) rawDiff(w http.ResponseWriter, r *http.Request) error {
	text, err := found(a, r, a.places.Diff)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/x-diff; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text) // a client that is gone is told nothing
	return nil
}

// vcsError is what OpenCode says of a patch that cannot be applied.
type vcsError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Reason  string `json:"reason"` // non-git, not-clean
	} `json:"data"`
}

type patchText struct {
	Patch *string `json:"patch"`
}

type applied struct {
	Applied bool `json:"applied"`
}

func (a *API) applyPatch(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[patchText](r)
	if err != nil {
		return err
	}
	if b.Patch == nil {
		return httpio.Invalid("body", "patch", "patch is missing")
	}
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	p, err := a.places.Place(r.Context(), l)
	if err != nil {
		return err
	}
	reason := ""
	err = a.places.Patch(r.Context(), l, *b.Patch)
	switch {
	case !p.Git:
		reason = "non-git"
	case errors.Is(err, &session.Error{Code: session.CodeConflict}):
		reason = "not-clean"
	case err != nil:
		return err
	default:
		return write(w, applied{true})
	}
	v := vcsError{Name: "VcsApplyError"}
	v.Data.Message, v.Data.Reason = "Patch can't be applied", reason
	return writeStatus(w, http.StatusBadRequest, v)
}
