package host

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/task"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// worktrees makes, lists, prepares, resets and removes linked worktrees of repositories. It implements v1.Worktrees and
// v2.Worktrees.
type worktrees struct {
	locations *locationCache
	store     store.Viewer
	work      worktreeWork
	marks     preparationMarks
	locks     *worktreeLocks

	preparing sync.WaitGroup
	mu        sync.Mutex    // guards closing against begin
	closing   chan struct{} // closed to end the commands that prepare worktrees
}

// worktreeWork lists what works in directories.
type worktreeWork struct {
	sessions  func() []session.ID // at work
	jobs      func() []task.RunningJob
	terminals func() []pty.Info
}

func newWorktrees(l *locationCache, s store.Viewer, locks *worktreeLocks, work worktreeWork) *worktrees {
	w := &worktrees{locations: l, store: s, work: work, locks: locks, closing: make(chan struct{})}
	w.marks = preparationMarks{filepath.Join(l.dirs.Data, "worktrees.json"), locks.isOccupied}
	return w
}

// close ends the commands that prepare worktrees. No other one starts.
func (w *worktrees) close() {
	w.mu.Lock()
	close(w.closing)
	w.mu.Unlock()
	w.preparing.Wait()
}

// loadFor returns the setup of a location, which must be of the project unless that is "".
func (w *worktrees) loadFor(ctx context.Context, at session.Location, id session.ProjectID) (*locationSetup, error) {
	setup, err := w.locations.load(ctx, at.Directory)
	if err == nil && id != "" && id != setup.project.ID {
		err = session.NotFound("project", string(id))
	}
	return setup, err
}

// outsideError says that a location is in no repository.
func outsideError(setup *locationSetup) error {
	return project.NewOutsideError(setup.project).Because(api.ErrNoRepository)
}

// maxSessions bounds the sessions of a worktree in a list.
const maxSessions = 100

// ListWorktrees returns the linked worktrees of the location's repository, with their sessions. Outside of a repository it
// is an error.
func (w *worktrees) ListWorktrees(
	ctx context.Context, at session.Location, id session.ProjectID,
) (out []api.Worktree, err error) {
	// Ask git, and read which ones are not prepared.
	setup, err := w.loadFor(ctx, at, id)
	if err != nil {
		return nil, err
	}
	if !setup.project.IsGit() {
		return nil, outsideError(setup)
	}
	all, err := w.locations.projects.ListWorktrees(ctx, setup.project)
	if err != nil {
		return nil, err
	}
	marks, err := w.marks.read()
	if err != nil { // the worktrees are more than what is known of their preparation
		w.locations.logger.Warn("it is not known which worktrees are prepared", "error", err)
	}
	// Describe each.
	out = []api.Worktree{}
	for _, tree := range all {
		one := api.Worktree{Directory: tree.Directory, Name: tree.Name, Branch: tree.Branch, Missing: tree.IsGone}
		// Its state.
		mark, isMarked := marks[tree.Directory]
		one.Problem = w.describeProblem(tree, isMarked, mark)
		one.Unprepared = one.Problem != "" && !tree.IsRemoving && !tree.IsCreating
		// Its sessions.
		err := w.store.View(ctx, func(r store.Reader) error {
			sessions, err := store.ReadSessions(r, store.SessionQuery{Directory: tree.Directory, Limit: maxSessions})
			one.Sessions = nil
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

// describeProblem returns why a worktree is not ready, and what to do; "" if it is.
func (w *worktrees) describeProblem(tree project.LinkedWorktree, isMarked bool, mark preparationMark) string {
	isOccupied := w.locks.isOccupied(tree.Directory)
	switch {
	case tree.IsRemoving && isOccupied:
		return "it is being removed"
	case tree.IsRemoving:
		return "its removal was cut off: cairn worktree remove completes it"
	case tree.IsCreating && isOccupied:
		return "it is being made"
	case tree.IsCreating:
		return "its creation was cut off: cairn worktree remove removes it"
	case isMarked && isOccupied:
		return "it is being prepared"
	case isMarked:
		return "not prepared (cairn worktree prepare does that again): " + cmp.Or(mark.Problem, "its preparation was cut off")
	default:
		return ""
	}
}

// RemoveWorktree removes a linked worktree in which nothing works. It ends the MCP and language servers of its locations.
func (w *worktrees) RemoveWorktree(
	ctx context.Context, at session.Location, n api.WorktreeName,
) (saved api.SavedWork, err error) {
	err = w.change(ctx, at, n, beingRemoved, func(setup *locationSetup, directory string) error {
		out, err := w.locations.projects.RemoveWorktree(ctx, setup.project, project.Removal{
			Directory: directory, Force: n.Force,
			CheckIdle: func(ctx context.Context) error {
				// A session may have begun to work since; from now on none can.
				if err := w.checkIdle(ctx, directory); err != nil {
					return err
				}
				w.locations.closeBelow(directory)
				return nil
			},
		})
		saved = api.SavedWork(out)
		if err == nil {
			w.forgetMark(ctx, directory)
		}
		return err
	})
	return saved, err
}

// ResetWorktree makes a linked worktree in which nothing works as the newest commit of the default branch.
func (w *worktrees) ResetWorktree(
	ctx context.Context, at session.Location, n api.WorktreeName,
) (saved api.SavedWork, err error) {
	err = w.change(ctx, at, n, beingReset, func(setup *locationSetup, directory string) error {
		out, err := w.locations.projects.ResetWorktree(ctx, setup.project, directory, setup.config.Trusted)
		saved = api.SavedWork(out)
		return err
	})
	return saved, err
}

// forgetMark removes the mark of a worktree that does not exist any more. If that fails, the mark is ignored until the
// next one is removed.
func (w *worktrees) forgetMark(ctx context.Context, directory string) {
	if err := w.marks.remove(ctx, directory); err != nil {
		w.locations.logger.Warn("the mark of a removed worktree stays", "directory", directory, "error", err)
	}
}

// change runs do for a location whose worktree is named, unless something works in that, or changes it. do gets the
// directory of the worktree: the request may name it by a link, or by the name that a removal has given it.
func (w *worktrees) change(
	ctx context.Context, at session.Location, n api.WorktreeName, what string, do func(*locationSetup, string) error,
) error {
	setup, err := w.loadFor(ctx, at, n.ProjectID)
	if err != nil {
		return err
	}
	tree, err := w.locations.projects.FindWorktree(ctx, setup.project, n.Directory)
	if err != nil {
		return err
	}
	leave, err := w.locks.occupy(tree.Directory, what)
	if err != nil {
		return err
	}
	defer leave()
	if err := w.checkIdle(ctx, tree.Directory); err != nil {
		return err
	}
	return do(setup, tree.Directory)
}

// checkIdle returns an error if a session, a job or a terminal works in the directory or below it.
func (w *worktrees) checkIdle(ctx context.Context, directory string) error {
	// Sessions, also those of subagents.
	for _, id := range w.work.sessions() {
		s, err := store.ReadSession(ctx, w.store, id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if isBelow(directory, s.Location.Directory) {
			return session.Errorf(session.CodeConflict, "the session %s works in %s; wait for it or interrupt it",
				s.ID, s.Location.Directory)
		}
	}
	// Jobs, which outlive the turns of their sessions.
	for _, j := range w.work.jobs() {
		if isBelow(directory, j.Job.Directory) {
			return session.Errorf(session.CodeConflict,
				"the job %s (%s) of the session %s runs in %s; to end it: cairn jobs cancel %s", j.Job.ID,
				session.ClipText(j.Job.Command, 100), j.SessionID, j.Job.Directory, j.Job.ID)
		}
	}
	// Terminals that people have opened.
	for _, t := range w.work.terminals() {
		if isBelow(directory, t.Directory) || isBelow(directory, t.Cwd) {
			return session.Errorf(session.CodeConflict, "the terminal %s (%s) is open in %s; close it first", t.ID,
				session.ClipText(t.Command, 100), t.Cwd)
		}
	}
	return nil
}
