package file

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// saveAll makes all changes, or none. It first writes every new content to a temporary file beside its target, then
// renames these over the targets in order, and removes files last: a reader never sees half a file, and a crash loses
// no content. If one change fails, it undoes those before. It returns the metadata of each file afterwards, nil for a
// removed one.
func saveAll(steps []*fileStep) ([]fs.FileInfo, error) {
	// Temporary files that were not renamed are removed in any case.
	var all []*stagedStep
	defer func() {
		for _, s := range all {
			s.discard()
		}
	}()
	// Stage everything first: most failures (no space, no permission) occur here and change nothing.
	for _, st := range steps {
		s, err := stageStep(st)
		if err != nil {
			return nil, st.describeFailure(err)
		}
		all = append(all, s)
	}
	if err := commitAll(all); err != nil {
		return nil, err
	}
	// Read the metadata that the next fingerprints are made of.
	infos := make([]fs.FileInfo, len(all))
	for i, s := range all {
		if s.removed {
			continue
		}
		info, err := s.dir.Lstat(s.name)
		if err != nil {
			return nil, workpath.FailOpen(s.path.Abs, err)
		}
		infos[i] = info
	}
	return infos, nil
}

// commitAll makes the staged changes, writes before removals. If one fails, it undoes those before.
func commitAll(all []*stagedStep) error {
	for _, s := range all {
		if err := checkUnchanged(s.dir, s.name, s.before.info); err != nil {
			return err
		}
	}
	var done []*stagedStep
	for _, removals := range []bool{false, true} {
		for _, s := range all {
			if s.removed != removals {
				continue
			}
			if err := s.commit(); err != nil {
				return s.describeFailure(errors.Join(err, undoAll(done)))
			}
			done = append(done, s)
		}
	}
	return nil
}

// describeFailure returns the error for the model that this file failed and nothing was changed.
func (s *fileStep) describeFailure(err error) error {
	if half, ok := errors.AsType[*undoError](err); ok {
		return tool.Failf(
			"%s could not be written, and then %s could not be put back: look at them before you go on.", s.path.Abs,
			strings.Join(half.paths, ", "),
		)
	}
	if f, ok := errors.AsType[*tool.Failure](err); ok {
		return f
	}
	return tool.Failf("%s could not be written: %v. Every file is as it was before.", s.path.Abs,
		workpath.FileErrorCause(err))
}

// undoError names the files that could not be restored.
type undoError struct{ paths []string }

func (e *undoError) Error() string { return "not put back: " + strings.Join(e.paths, ", ") }

// undoAll undoes changes in reverse order.
func undoAll(done []*stagedStep) error {
	var failed []string
	for i := len(done) - 1; i >= 0; i-- {
		if err := done[i].undoStep(); err != nil {
			failed = append(failed, done[i].path.Abs)
		}
	}
	if failed == nil {
		return nil
	}
	return &undoError{failed}
}
