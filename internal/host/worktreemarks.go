package host

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// preparationMarks is the file that lists the worktrees whose preparation has begun and has not succeeded. It is not in
// the repository, because commands of sessions write there, and it names a command that runs without a sandbox.
type preparationMarks struct {
	path    string
	isInUse func(directory string) bool // a worktree is being made or changed there
}

// preparationMark says how a worktree is prepared.
type preparationMark struct {
	Start   string `json:"start,omitzero"`   // the command that runs after the configured one
	Problem string `json:"problem,omitzero"` // why the preparation failed; "" if it was cut off
}

// maxMarks bounds the file in bytes.
const maxMarks = 4 << 20

// marksVersion is the version of the file's form, which has no member for it yet: its members are directories.
const marksVersion = 1

// read returns the marks by directory.
func (m preparationMarks) read() (marks map[string]preparationMark, err error) {
	raw, err := statefile.Read(m.path, maxMarks)
	if err == nil {
		err = statefile.CheckVersion(m.path, raw, marksVersion)
	}
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &marks)
	}
	if err != nil {
		return nil, fmt.Errorf("read which worktrees are prepared: %w; if %s is damaged, remove it, and all count as prepared",
			err, m.path)
	}
	return marks, nil
}

// put stores the mark of a directory.
func (m preparationMarks) put(ctx context.Context, directory string, mark preparationMark) error {
	mark.Problem = session.ClipText(mark.Problem, 2000)
	return m.change(ctx, func(marks map[string]preparationMark) { marks[directory] = mark })
}

// remove removes the mark of a directory, and those of directories that do not exist any more.
func (m preparationMarks) remove(ctx context.Context, directory string) error {
	if marks, err := m.read(); err == nil {
		if _, ok := marks[directory]; !ok {
			return nil
		}
	}
	return m.change(ctx, func(marks map[string]preparationMark) {
		for other := range marks {
			_, err := os.Lstat(other)
			if other == directory || errors.Is(err, os.ErrNotExist) && !m.isInUse(other) {
				delete(marks, other)
			}
		}
	})
}

// change changes the marks. A caller that has gone does not keep them from being stored.
func (m preparationMarks) change(ctx context.Context, do func(map[string]preparationMark)) error {
	ctx = context.WithoutCancel(ctx)
	return statefile.WithLock(ctx, m.path, func() error {
		marks, err := m.read()
		if err != nil {
			return err
		}
		if marks == nil {
			marks = map[string]preparationMark{}
		}
		do(marks)
		raw, err := json.Marshal(marks, json.Deterministic(true))
		if err != nil {
			return err
		}
		if len(raw) > maxMarks {
			return session.Errorf(session.CodeConflict,
				"too many worktrees are not prepared; prepare or remove some of them (cairn worktree list)")
		}
		return statefile.Replace(m.path, raw, 0o600)
	})
}
