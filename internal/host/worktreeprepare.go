package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// prepareTime bounds the commands that prepare a worktree.
const prepareTime = 10 * time.Minute

// PrepareWorktree runs the commands that prepare a worktree again: the configured one, and the one with which it was made
// if that has not succeeded.
func (w *worktrees) PrepareWorktree(ctx context.Context, at session.Location, n api.WorktreeName) (out api.Worktree, err error) {
	setup, err := w.loadFor(ctx, at, n.ProjectID)
	if err != nil {
		return out, err
	}
	// Find the worktree, which must be whole.
	all, err := w.locations.projects.ListWorktrees(ctx, setup.project)
	if err != nil {
		return out, err
	}
	directory := cleanDirectory(n.Directory)
	i := slices.IndexFunc(all, func(t project.LinkedWorktree) bool { return t.Directory == directory })
	if i < 0 {
		return out, session.NotFound("worktree", n.Directory)
	}
	if tree := all[i]; tree.IsGone || tree.IsCreating || tree.IsRemoving {
		return out, session.Errorf(session.CodeConflict, "the worktree %s is not whole; remove it, and make it again",
			tree.Directory).At("directory")
	}
	leave, err := w.occupy(directory, "being prepared")
	if err != nil {
		return out, err
	}
	defer leave()
	// Prepare it.
	fresh, err := w.locations.load(ctx, directory)
	if err != nil {
		return out, err
	}
	marks, err := w.marks.read()
	if err != nil {
		return out, err
	}
	out = api.Worktree{Directory: directory, Name: all[i].Name, Branch: all[i].Branch}
	if err := w.prepareMarked(ctx, fresh, directory, marks[directory].Start); err != nil {
		out.Problem, out.Unprepared = err.Error(), true
	}
	return out, nil
}

// prepareMarked runs the commands that prepare a worktree. The mark that it is not prepared is stored before they start,
// and goes when they have succeeded.
func (w *worktrees) prepareMarked(ctx context.Context, p *locationSetup, directory, start string) error {
	if p.config.Worktree.Start != "" || start != "" {
		if err := w.marks.put(ctx, directory, preparationMark{Start: start}); err != nil {
			return err
		}
	}
	err := p.prepare(ctx, start)
	if err == nil {
		return w.marks.remove(ctx, directory)
	}
	if ctx.Err() == nil { // else it was cut off, as the mark says
		err = errors.Join(err, w.marks.put(ctx, directory, preparationMark{Start: start, Problem: err.Error()}))
	}
	return err
}

// prepareBeside runs a preparation until it ends, or close is called.
func (w *worktrees) prepareBeside(ctx context.Context, prepare func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	w.preparing.Go(func() {
		defer cancel()
		_ = prepare(ctx) // it tells why it failed
	})
	w.preparing.Go(func() {
		defer cancel()
		select {
		case <-w.closing:
		case <-ctx.Done():
		}
	})
}

// prepare runs the configured command of a new worktree, then the other one. Each ends with all that it started.
func (p *locationSetup) prepare(ctx context.Context, other string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, prepareTime, fmt.Errorf("it did not end within %v", prepareTime))
	defer cancel()
	for _, command := range []string{p.config.Worktree.Start, other} {
		if command == "" {
			continue
		}
		if err := p.runPreparation(ctx, command); err != nil {
			return fmt.Errorf("%s: %w", session.ClipText(command, 200), err)
		}
	}
	return nil
}

func (p *locationSetup) runPreparation(ctx context.Context, command string) error {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	env := process.Environment{Deny: p.models.SecretVariables()}
	child, err := process.StartChild(process.Spec{
		Argv: []string{shell, "-c", command}, Dir: p.project.Directory, Env: env.List(),
		Supervisor: process.SupervisorCommand(), Processes: process.MaxProcesses,
	})
	if err != nil {
		return err
	}
	defer func() { _ = child.Close() }()
	_ = child.In.Close()
	output := child.CollectOutput()
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Stop(0)
		return context.Cause(ctx)
	}
	if code, _ := child.ExitStatus(); code != 0 {
		return fmt.Errorf("exit code %d: %s", code, session.ClipText(strings.TrimSpace(cmp.Or(child.ReadErrors(), output())), 1000))
	}
	return nil
}

// cleanDirectory returns the path of a directory without links, as far as it exists.
func cleanDirectory(directory string) string {
	if real, err := filepath.EvalSymlinks(directory); err == nil {
		return real
	}
	return filepath.Clean(directory)
}

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

// read returns the marks by directory.
func (m preparationMarks) read() (marks map[string]preparationMark, err error) {
	raw, err := statefile.Read(m.path, maxMarks)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &marks)
	}
	if err != nil {
		return nil, fmt.Errorf("read which worktrees are prepared from %s: %w", m.path, err)
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
		return statefile.Replace(m.path, raw, 0o600)
	})
}
