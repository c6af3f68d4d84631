package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
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
	tree, err := w.locations.projects.FindWorktree(ctx, setup.project, n.Directory)
	if err != nil {
		return out, err
	}
	directory := tree.Directory
	if tree.IsGone || tree.IsCreating || tree.IsRemoving {
		return out, session.Errorf(session.CodeConflict, "the worktree %s is not whole; remove it, and make it again",
			directory).At("directory")
	}
	leave, err := w.locks.occupy(directory, beingPrepared)
	if err != nil {
		return out, err
	}
	defer leave()
	ctx, end, err := w.begin(ctx)
	if err != nil {
		return out, err
	}
	defer end()
	// Prepare it.
	fresh, err := w.locations.load(ctx, directory)
	if err != nil {
		return out, err
	}
	marks, err := w.marks.read()
	if err != nil {
		return out, err
	}
	out = api.Worktree{Directory: directory, Name: tree.Name, Branch: tree.Branch, Note: fresh.config.UntrustedStartReason()}
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

// begin returns the context of a preparation, which ends with ctx or when close is called. close waits for end. After close
// it is an error.
func (w *worktrees) begin(ctx context.Context) (running context.Context, end func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closing:
		return nil, nil, session.Errorf(session.CodeConflict, "cairn is about to end; try again")
	default:
	}
	running, cancel := context.WithCancel(ctx)
	w.preparing.Go(func() {
		defer cancel()
		select {
		case <-w.closing:
		case <-running.Done():
		}
	})
	w.preparing.Add(1)
	return running, sync.OnceFunc(func() {
		cancel()
		w.preparing.Done()
	}), nil
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
