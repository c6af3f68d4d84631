package engine

import (
	"errors"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Outputs are the managed files in which tools keep what they said beyond the limits.
type Outputs interface {
	// Remove removes the session's managed files, and those of the paths that are managed files.
	Remove(id session.ID, paths []string) error
	// Read returns at most n bytes of a managed file from an offset on, which counts from the end if it is negative, and the
	// offset behind them. Of a path that is none it knows nothing (fs.ErrNotExist).
	Read(path string, offset int64, n int) (text []byte, next int64, err error)
}

// outputsOf returns the paths that the session's calls name. What is damaged names none: its files go when they are old.
func outputsOf(r store.Reader, id session.ID) (paths []string, err error) {
	const page = 100
	for after, more := int64(-1), true; more; {
		ms, err := store.ReadMessages(r, id, store.MessageQuery{After: after, Limit: page})
		if errors.Is(err, store.ErrDamaged) {
			return paths, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			after = m.Meta().Seq
			if a, ok := m.(*session.Assistant); ok {
				for _, call := range a.Tools() {
					paths = append(paths, call.State.OutputPaths...)
				}
			}
		}
		more = len(ms) == page
	}
	return paths, nil
}

// removeOutputs removes the files of a session that is deleted. What fails goes at the next start.
func (e *Engine) removeOutputs(id session.ID, paths []string) {
	if e.outputs == nil {
		return
	}
	if err := e.outputs.Remove(id, paths); err != nil {
		e.logger.Warn("remove the tool output of a deleted session", "session", id, "error", err)
	}
}
