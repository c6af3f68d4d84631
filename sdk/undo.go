package sdk

import (
	"context"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/redo"
	"github.com/cairn-dev/cairn/internal/session"
)

// Undone is what an undo or a redo did to files. Paths are relative to the root of the worktree, with slashes, or
// absolute outside of it.
type Undone struct {
	Changed []string   // files that it took back, or brought back
	Kept    []KeptFile // files that it left as they are, since they are not as the session left them
	Unknown []string   // for people: what else the session may have changed, such as by commands
}

// KeptFile is a file that was left as it is, and why.
type KeptFile struct{ Path, Reason string }

// Undo takes back the newest prompt, its answer, and what that changed in files. Called again it goes one prompt
// further; Kept and Unknown are of all that is undone then. Redo goes forward; the next prompt makes it final. It is an
// error of CodeConflict if the session is at work.
func (s *Session) Undo(ctx context.Context) (*Undone, error) {
	var r, earlier *session.Revert
	err := s.client.call(ctx, func(ctx context.Context) error {
		current, err := s.client.api.Session(ctx, s.id)
		if err != nil {
			return err
		}
		earlier = current.Revert
		r, err = api.Reverts{Client: s.client.api}.StageRevert(ctx, s.id, api.RevertRequest{Before: true})
		return err
	})
	if err != nil {
		return nil, err
	}
	u := &Undone{Unknown: r.Unknown, Kept: newKept(r.Kept)}
	for _, path := range listUndone(earlier, r) {
		u.Changed = append(u.Changed, string(path))
	}
	return u, nil
}

// listUndone returns the files that an undo changed. The server has one revert of all that is undone: these are the
// files that r leaves in another state than the revert before it, which is nil for the first undo.
func listUndone(earlier, r *session.Revert) (out []session.FilePath) {
	before := map[session.FilePath]session.PathState{}
	if earlier != nil {
		for _, f := range earlier.Files {
			before[f.Path] = f.To
		}
	}
	for _, f := range r.Files {
		if to, isKnown := before[f.Path]; !isKnown || to != f.To {
			out = append(out, f.Path)
		}
		delete(before, f.Path)
	}
	// Those that are left are back in the state that they had before the first undo, or stay as they are.
	for _, f := range r.Kept {
		delete(before, f.Path)
	}
	return append(out, slices.Sorted(maps.Keys(before))...)
}

// Redo brings back the prompt that the last undo took back. It is an error of CodeConflict if there is none.
func (s *Session) Redo(ctx context.Context) (*Undone, error) {
	var step redo.Step
	err := s.client.call(ctx, func(ctx context.Context) error {
		current, err := s.client.api.Session(ctx, s.id)
		if err != nil {
			return err
		}
		if current.Revert == nil {
			return session.Errorf(session.CodeConflict, "session %q has nothing to redo", s.id)
		}
		step, err = redo.StageNext(ctx, s.client.api, current)
		return err
	})
	if err != nil {
		return nil, err
	}
	u := &Undone{Unknown: step.Unknown, Kept: newKept(step.Kept)}
	for _, path := range step.Restored {
		u.Changed = append(u.Changed, string(path))
	}
	return u, nil
}

func newKept(files []session.KeptFile) (out []KeptFile) {
	for _, f := range files {
		out = append(out, KeptFile{string(f.Path), f.Reason})
	}
	return out
}

// FileChange is what a session did to a file.
type FileChange struct {
	Path      string // relative to the root of the worktree, with slashes, or absolute outside of it
	Status    string // added, deleted or modified
	Additions int    // lines
	Deletions int    // lines
	Patch     string // in git's form; "" for a binary file and one that is too large
}

// Diff returns what the session's tools and commands changed in files until now, without what was undone and without
// changes of others.
func (s *Session) Diff(ctx context.Context) ([]FileChange, error) {
	var diff api.SessionDiff
	const linesOfContext = 3
	err := s.client.call(ctx, func(ctx context.Context) (err error) {
		diff, err = api.Reverts{Client: s.client.api}.ReadDiff(ctx, s.id, api.DiffSelection{Context: linesOfContext})
		return err
	})
	var out []FileChange
	for _, f := range diff.Data {
		out = append(out, FileChange{string(f.Path), f.Status, f.Additions, f.Deletions, f.Patch})
	}
	return out, err
}
