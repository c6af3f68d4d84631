package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// worktrees makes, lists, resets and removes linked worktrees of repositories. It implements v1.Worktrees and
// v2.Worktrees.
type worktrees struct {
	locations *locationCache
	store     store.Viewer
	active    func() []session.ID // the sessions at work
	closing   chan struct{}       // closed to end the commands that prepare worktrees
	preparing sync.WaitGroup
}

func newWorktrees(l *locationCache, s store.Viewer, active func() []session.ID) *worktrees {
	return &worktrees{locations: l, store: s, active: active, closing: make(chan struct{})}
}

// close ends the commands that prepare worktrees.
func (w *worktrees) close() {
	close(w.closing)
	w.preparing.Wait()
}

const (
	nameTries   = 26               // as many as OpenCode makes
	prepareTime = 10 * time.Minute // bounds the commands that prepare a worktree
	maxSessions = 100              // of a worktree in a list
)

// CreateWorktree makes a worktree of the location's repository and prepares it. A project whose trust covers the same
// content is trusted in it too. done is called when the worktree is prepared, with the reason if it could not be; with
// Prepare that is before the return.
func (w *worktrees) CreateWorktree(
	ctx context.Context, at session.Location, n api.NewWorktree, done func(api.Worktree, error),
) (out api.Worktree, err error) {
	setup, err := w.loadFor(ctx, at, n.ProjectID)
	if err != nil {
		return out, err
	}
	// Make it. A name that cairn chooses is tried again if it is taken.
	parent := w.findParent(setup, n.Directory)
	if !filepath.IsAbs(parent) {
		return out, session.Errorf(session.CodeInvalid, "the directory of worktrees must be absolute, got %q",
			session.ClipText(parent, 200)).At("directory")
	}
	made := project.NewWorktree{
		Name: n.Name, Parent: parent, From: n.From, Branch: n.Branch, Filters: setup.config.Trusted,
	}
	var tree project.LinkedWorktree
	for i := range nameTries {
		if n.Name == "" {
			made.Name = admit.NameSlug(fmt.Sprintf("%s %d %d", setup.project.Main, time.Now().UnixNano(), i))
		}
		tree, err = w.locations.projects.CreateWorktree(ctx, setup.project, made)
		if n.Name != "" || !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			break
		}
	}
	if err != nil {
		return out, err
	}
	out = api.Worktree{Directory: tree.Directory, Name: tree.Name, Branch: tree.Branch}
	// Trust it as its source, and prepare it.
	fresh, err := w.locations.load(ctx, tree.Directory)
	if err == nil && setup.config.Trusted && !fresh.config.Trusted && fresh.config.Claim.Hash() == setup.config.Claim.Hash() {
		if err = w.locations.trust.Store.Trust(ctx, fresh.config.Claim); err == nil {
			fresh, err = w.locations.load(ctx, tree.Directory)
		}
	}
	if err != nil {
		return out, err
	}
	prepare := func(ctx context.Context) error {
		err := fresh.prepare(ctx, n.Start)
		if done != nil {
			done(out, err)
		}
		return err
	}
	if !n.Prepare {
		w.prepareBeside(context.WithoutCancel(ctx), prepare)
		return out, nil
	}
	if err := prepare(ctx); err != nil {
		out.Problem = err.Error()
	}
	return out, nil
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

// loadFor returns the setup of a location, which must be of the project unless that is "".
func (w *worktrees) loadFor(ctx context.Context, at session.Location, id session.ProjectID) (*locationSetup, error) {
	setup, err := w.locations.load(ctx, at.Directory)
	if err == nil && id != "" && id != setup.project.ID {
		err = session.NotFound("project", string(id))
	}
	return setup, err
}

// findParent returns the directory of the worktrees of a repository: that of the request, else its own one in the
// configured directory.
func (w *worktrees) findParent(setup *locationSetup, requested string) string {
	if requested != "" {
		return requested
	}
	sum := sha256.Sum256([]byte(setup.project.Main))
	base := cmp.Or(setup.config.Worktree.Directory, w.locations.dirs.Worktrees)
	if rest, ok := strings.CutPrefix(base, "~/"); ok {
		base = filepath.Join(w.locations.dirs.Home, rest)
	}
	return filepath.Join(base, filepath.Base(setup.project.Main)+"-"+hex.EncodeToString(sum[:4]))
}

// ListWorktrees returns the linked worktrees of the location's repository, with their sessions.
func (w *worktrees) ListWorktrees(
	ctx context.Context, at session.Location, id session.ProjectID,
) (out []api.Worktree, err error) {
	setup, err := w.loadFor(ctx, at, id)
	if err != nil {
		return nil, err
	}
	all, err := w.locations.projects.ListWorktrees(ctx, setup.project)
	if err != nil {
		return nil, err
	}
	out = []api.Worktree{}
	for _, tree := range all {
		one := api.Worktree{Directory: tree.Directory, Name: tree.Name, Branch: tree.Branch, Missing: tree.IsGone}
		switch {
		case tree.IsRemoving:
			one.Problem = "its removal was cut off: cairn worktree remove completes it"
		case tree.IsCreating:
			one.Problem = "its creation was cut off: cairn worktree remove removes it"
		}
		err := w.store.View(ctx, func(r store.Reader) error {
			sessions, err := store.ReadSessions(r, store.SessionQuery{Directory: tree.Directory, Limit: maxSessions})
			for _, s := range sessions {
				one.Sessions = append(one.Sessions, s.ID)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// RemoveWorktree removes a linked worktree in which no session works.
func (w *worktrees) RemoveWorktree(ctx context.Context, at session.Location, n api.WorktreeName) (api.SavedWork, error) {
	setup, err := w.loadIdle(ctx, at, n)
	if err != nil {
		return api.SavedWork{}, err
	}
	saved, err := w.locations.projects.RemoveWorktree(ctx, setup.project, project.Removal{Directory: n.Directory, Force: n.Force})
	return api.SavedWork(saved), err
}

// ResetWorktree makes a linked worktree in which no session works as the newest commit of the default branch.
func (w *worktrees) ResetWorktree(ctx context.Context, at session.Location, n api.WorktreeName) (api.SavedWork, error) {
	setup, err := w.loadIdle(ctx, at, n)
	if err != nil {
		return api.SavedWork{}, err
	}
	saved, err := w.locations.projects.ResetWorktree(ctx, setup.project, n.Directory, setup.config.Trusted)
	return api.SavedWork(saved), err
}

// loadIdle returns the setup of a location whose worktree is named. It is an error if a session works in that.
func (w *worktrees) loadIdle(ctx context.Context, at session.Location, n api.WorktreeName) (*locationSetup, error) {
	setup, err := w.loadFor(ctx, at, n.ProjectID)
	if err == nil {
		err = w.checkIdle(ctx, n.Directory)
	}
	return setup, err
}

// checkIdle returns an error if a session works in the directory or below it.
func (w *worktrees) checkIdle(ctx context.Context, directory string) error {
	if real, err := filepath.EvalSymlinks(directory); err == nil {
		directory = real
	}
	for _, id := range w.active() {
		s, err := store.ReadSession(ctx, w.store, id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(directory, s.Location.Directory); err == nil && filepath.IsLocal(rel) {
			return session.Errorf(session.CodeConflict, "the session %s works in %s; wait for it or interrupt it",
				s.ID, s.Location.Directory)
		}
	}
	return nil
}
