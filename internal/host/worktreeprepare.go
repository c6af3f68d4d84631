package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/session"
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
		why := session.ClipText(strings.TrimSpace(cmp.Or(child.ReadErrors(), output())), 1000)
		return errors.New(strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", code, why), ": "))
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
