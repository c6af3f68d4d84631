package undo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// heldFiles is a worktree in memory: the blob of each path.
type heldFiles struct {
	scope.Worktree
	blobs map[session.FilePath]string
}

func (h heldFiles) Restore(_ context.Context, steps []session.FileChange) []error {
	for _, s := range steps {
		h.blobs[s.Path] = s.After.Blob
	}
	return make([]error, len(steps))
}

// Files that the session moved in a chain keep their contents if the last one cannot be written, in any order of the
// paths.
func TestPutBackChain(t *testing.T) {
	t.Parallel()
	state := func(blob string) session.PathState { return session.PathState{Blob: blob} }
	for _, paths := range [][3]session.FilePath{{"a", "b", "c"}, {"z", "b", "c"}, {"z", "y", "x"}, {"b", "z", "a"}} {
		// The session moved paths[0] to paths[1], and what was there to paths[2]; paths[0] cannot be written.
		steps := []session.FileChange{
			{Path: paths[0], After: state("first")},
			{Path: paths[1], Before: state("first"), After: state("second")},
			{Path: paths[2], Before: state("second")},
		}
		held := heldFiles{blobs: map[session.FilePath]string{paths[1]: "second", paths[2]: ""}}
		slices.SortFunc(steps, func(a, b session.FileChange) int { return strings.Compare(string(a.Path), string(b.Path)) })
		failed := make([]error, len(steps))
		last := slices.IndexFunc(steps, func(s session.FileChange) bool { return s.Path == paths[0] })
		failed[last] = errors.New("no space")
		Reverter{Files: held}.putBack(t.Context(), steps, failed)
		want := map[session.FilePath]string{paths[1]: "first", paths[2]: "second"}
		if diff := cmp.Diff(want, held.blobs); diff != "" {
			t.Errorf("%v: files (-want +got):\n%s", paths, diff)
		}
		for i, err := range failed {
			if err == nil {
				t.Errorf("%v: %s counts as restored", paths, steps[i].Path)
			}
		}
	}
}
