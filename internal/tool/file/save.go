package file

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// saveAll makes all files what the steps say, or none. First every new content is written beside its file; if that
// succeeds, they are renamed over the files one after the other, in order, and only then what shall be gone is removed:
// nobody ever sees half a file, and whatever ends this process in between, no content is lost. If one of these fails,
// those before are undone. It returns what each file is like then, nil for one that is gone.
func saveAll(steps []*fileStep) ([]fs.FileInfo, error) {
	var all []*stagedStep
	defer func() {
		for _, s := range all {
			s.discard()
		}
	}()
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

// commitAll makes the staged changes happen, writes before removals, or undoes those that did.
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

// describeFailure says that nothing came of the change because this file failed.
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
	return tool.Failf("%s could not be written: %v. Every file is as it was before.", s.path.Abs, workpath.Cause(err))
}

// undoError names the files that could not be put back.
type undoError struct{ paths []string }

func (e *undoError) Error() string { return "not put back: " + strings.Join(e.paths, ", ") }

// undoAll puts back what was there before, the last first.
func undoAll(done []*stagedStep) error {
	var failed []string
	for i := len(done) - 1; i >= 0; i-- {
		if err := done[i].undo(); err != nil {
			failed = append(failed, done[i].path.Abs)
		}
	}
	if failed == nil {
		return nil
	}
	return &undoError{failed}
}
