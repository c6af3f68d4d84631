package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkoutHandlers reads and patches the checkout of a location.
type checkoutHandlers struct{ *dependencies }

// branches are the response of vcs.get. Missing branches are left out, as the document says; OpenCode sends null.
type branches struct {
	Branch   string `json:"branch,omitzero"`
	Standard string `json:"default_branch,omitzero"`
}

// listBranches returns the branches and watches the directory, so that the streams learn when another branch is checked
// out.
func (h checkoutHandlers) listBranches(ctx context.Context, in locationIn) (branches, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return branches{}, err
	}
	h.dependencies.branches.Watch(in.Location.Directory)
	current, standard := l.Projects.Branches(ctx, l.Project)
	return branches{current, standard}, nil
}

func (h checkoutHandlers) listChanges(ctx context.Context, in locationIn) ([]opencode.ChangedFile, error) {
	return h.compareFiles(ctx, in, project.Compare{})
}

// diffFiles lists changes with their patches, against the last commit (git) or the merge base of the default branch
// (branch).
func (h checkoutHandlers) diffFiles(ctx context.Context, in struct {
	locationIn
	Mode    string `query:"mode" required:"true" enum:"git,branch"`
	Context int64  `query:"context" default:"3" max:"100000"`
},
) ([]opencode.ChangedFile, error) {
	return h.compareFiles(
		ctx,
		in.locationIn,
		project.Compare{Branch: in.Mode == "branch", Patches: true, Context: int(in.Context)},
	)
}

func (h checkoutHandlers) compareFiles(
	ctx context.Context,
	in locationIn,
	with project.Compare,
) ([]opencode.ChangedFile, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	changes, err := l.Projects.ListChanges(ctx, l.Project, with)
	list := []opencode.ChangedFile{}
	for _, f := range changes {
		list = append(list, opencode.ChangedFile{
			File: f.File, Patch: f.Patch, Additions: f.Additions, Deletions: f.Deletions, Status: f.Status,
		})
	}
	return list, err
}

// diffText is a diff in git's format.
type diffText string

// Respond implements operation.Response.
func (d diffText) Respond(w http.ResponseWriter, _ *http.Request) error {
	_, media := d.DescribeResponse()
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(d)))
	_, _ = io.WriteString(w, string(d)) // a client that has disconnected is no error
	return nil
}

// DescribeResponse implements operation.Response.
func (diffText) DescribeResponse() (t reflect.Type, media string) {
	return reflect.TypeFor[string](), "text/x-diff; charset=utf-8"
}

func (h checkoutHandlers) rawDiff(ctx context.Context, in locationIn) (diffText, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return "", err
	}
	text, err := l.Projects.Diff(ctx, l.Project)
	return diffText(text), err
}

// patchError is the error envelope for a patch that cannot be applied.
type patchError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Reason  string `json:"reason"` // non-git, not-clean
	} `json:"data"`
}

// patchRequest is the body of vcs.apply.
type patchRequest struct {
	Patch *string `json:"patch"`
}

// Validate implements operation.Validator.
func (b *patchRequest) Validate() error {
	if b.Patch == nil {
		return httpio.NewInvalid("body", "patch", "patch is missing")
	}
	return nil
}

// patchResult is the response of vcs.apply.
type patchResult struct {
	Applied bool `json:"applied"`
}

func (h checkoutHandlers) applyPatch(ctx context.Context, in locationBody[patchRequest]) (patchResult, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return patchResult{}, err
	}
	refused := patchError{Name: "VcsApplyError"}
	refused.Data.Message = "Patch can't be applied"
	err = l.Projects.Patch(ctx, l.Project, *in.Body.Patch)
	switch {
	case !l.Git:
		refused.Data.Reason = "non-git"
	case errors.Is(err, &session.Error{Code: session.CodeConflict}):
		refused.Data.Reason = "not-clean"
	default:
		return patchResult{err == nil}, err
	}
	return patchResult{}, &statusError{http.StatusBadRequest, refused}
}
