package admit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// MoveRequest asks for a session to go on in another directory.
type MoveRequest struct {
	SessionID session.ID
	Directory string // absolute; "" is where the session's project was moved to, if it was
	// Changes takes the uncommitted changes of the session's working tree along.
	Changes bool
	// OtherProject allows a directory of another project.
	OtherProject bool
}

// moveWait bounds the wait for the end of the turn that runs.
const moveWait = time.Minute

// MoveSession moves a session, with its subagents, to another directory (MV-1 to MV-3). It waits until no turn of it runs;
// work that is left goes on at the destination, whose system context is new. With an error the session stays where it
// was, but for changes that cannot be removed from the source after it moved: the error says so. A move to the session's
// own directory does nothing, but completes one with changes that was cut off.
func (c *Commands) MoveSession(ctx context.Context, r MoveRequest) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	if r.OtherProject || r.Changes {
		if err := caller.Require(ctx, caller.Approve, "a move to another project or with uncommitted changes"); err != nil {
			return err
		}
	}
	// Check what needs no wait, so that a wrong request fails at once.
	to, isThere, err := c.checkMove(ctx, r, false)
	switch {
	case err != nil:
		return err
	case isThere && r.Changes:
		return c.completeChanges(ctx, r.SessionID, to)
	case isThere:
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	err = c.scheduler.RunAtBoundary(wait, r.SessionID, func(context.Context) error {
		return c.moveNow(context.WithoutCancel(ctx), r) // with the rights of the caller
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return session.Errorf(session.CodeConflict,
			"the session %s still works on its turn after %v; interrupt it, or move it when it is idle", r.SessionID, moveWait)
	}
	return err
}

// checkMove returns the destination of a move, or why it is impossible: now, while no turn of the session runs, or after the
// turn that runs. isThere reports that the session is there already.
func (c *Commands) checkMove(ctx context.Context, r MoveRequest, now bool) (to *scope.Scope, isThere bool, err error) {
	// Find the session, where it works now, and the destination.
	s, err := c.journal.ReadSession(ctx, r.SessionID)
	if err != nil {
		return nil, false, err
	}
	to, projectMoved, release, openErr := scope.OpenForWork(ctx, c.locations, s)
	if openErr == nil {
		release() // what is read of a scope below never changes
	}
	if r.Directory == "" && (openErr != nil || !projectMoved) {
		return to, true, openErr
	}
	if r.Directory != "" {
		if to, release, err = c.locations.Scope(ctx, session.Location{Directory: r.Directory}); err != nil {
			return nil, false, err
		}
		release()
	}
	// Refuse what cannot move, or not there.
	conflict := func(format string, args ...any) *session.Error {
		return session.Errorf(session.CodeConflict, format, args...)
	}
	switch {
	case s.ParentID != "":
		return nil, false, conflict("%s is a subagent; move its session %s, and it comes along", s.ID, s.ParentID)
	case s.Location.Directory == to.Location.Directory:
		return to, true, nil
	case slices.Contains(strings.Split(filepath.ToSlash(to.Location.Directory), "/"), ".git"):
		return nil, false, conflict("%s is in the files of a git repository, in which no session works", to.Location.Directory)
	case s.Revert != nil && openErr == nil && !projectMoved: // what a gone directory had may be at the destination
		return nil, false, conflict("an undo is staged; redo it, or commit it, before the session moves")
	case !r.OtherProject && !isOfProject(s, to):
		return nil, false, conflict("%s belongs to another project than the session",
			to.Location.Directory).At("otherProject")
	}
	if err := to.CheckSelection(s.Agent, nil); err != nil { // the model is looked up at the next turn
		return nil, false, err
	}
	// Its subagents move with it, so none may work. Those for which its turn waits end with that.
	tree, err := c.listSubagents(ctx, s)
	if err != nil {
		return to, false, err
	}
	for _, child := range tree {
		if !c.scheduler.IsIdle(child.ID) && (now || s.RunsInBackground(child.ID)) {
			return to, false, conflict("its subagent %s works in the background; wait for it or cancel it (cairn jobs)", child.ID)
		}
	}
	return to, false, nil
}

// isOfProject reports whether a session belongs to the project of a scope. Its record decides: a root commit or a remote
// can be copied.
func isOfProject(s *session.Session, to *scope.Scope) bool {
	if s.RecordID == "" { // from before records
		return s.ProjectID.IsSame(to.ProjectID)
	}
	return s.RecordID == to.RecordID
}

// listSubagents returns the sessions below a session that work in its directory.
func (c *Commands) listSubagents(ctx context.Context, s *session.Session) (found []*session.Session, err error) {
	err = c.journal.Store.View(ctx, func(r store.Reader) error {
		found = nil
		for level := []*session.Session{s}; len(level) > 0; {
			var below []*session.Session
			for _, parent := range level {
				children, err := store.ReadSessions(r, store.SessionQuery{ParentID: &parent.ID, Archived: true})
				if err != nil {
					return err
				}
				below = append(below, children...)
			}
			found, level = append(found, below...), below
		}
		return nil
	})
	isElsewhere := func(child *session.Session) bool { return child.Location.Directory != s.Location.Directory }
	return slices.DeleteFunc(found, isElsewhere), err
}

// moveNow moves a session of which no turn runs.
func (c *Commands) moveNow(ctx context.Context, r MoveRequest) error {
	// The session, the destination and the subagents may have changed during the wait.
	to, isThere, err := c.checkMove(ctx, r, true)
	if err != nil || isThere {
		return err
	}
	s, err := c.journal.ReadSession(ctx, r.SessionID)
	if err != nil {
		return err
	}
	tree, err := c.listSubagents(ctx, s)
	if err != nil {
		return err
	}
	// Copy the changes before the session moves, and remove them from the source afterwards: at every moment they are
	// somewhere.
	var copied ChangesCopy
	if r.Changes && c.checkouts != nil {
		if copied, err = c.checkouts.CopyChanges(ctx, s.Location.Directory, to.Location.Directory); err != nil {
			return err
		}
	}
	err = c.recordMove(ctx, append(tree, s), to, copied != nil)
	switch {
	case copied == nil:
		return err
	case err != nil:
		return errors.Join(err, copied.TakeBack(ctx))
	}
	if err := copied.Remove(ctx); err != nil {
		return session.Errorf(session.CodeConflict, "the session has moved, but its changes are still in %s too: %v",
			s.Location.Directory, err).Because(err)
	}
	return nil
}

// completeChanges removes from the place where a session was before the changes that it has where it is now: the process
// that moved it ended before it did. Changes of the earlier place that are not here are a conflict, and stay.
func (c *Commands) completeChanges(ctx context.Context, id session.ID, here *scope.Scope) error {
	earlier, record, err := undo.FindEarlierPlace(ctx, c.journal.Store, id)
	if err != nil || earlier == "" || earlier == here.Location.Directory || c.checkouts == nil {
		return err
	}
	// Another project may be there by now.
	there, release, err := c.locations.Scope(ctx, session.Location{Directory: earlier})
	if err != nil {
		return nil //nolint:nilerr // the earlier place is gone, and its changes with it
	}
	release()
	if record != "" && there.RecordID != record {
		return nil
	}
	left, err := c.checkouts.CompleteCopy(ctx, earlier, here.Location.Directory)
	if err != nil || len(left) == 0 {
		return err
	}
	const most = 10
	names := strings.Join(left[:min(len(left), most)], ", ")
	if more := len(left) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return session.Errorf(session.CodeConflict, "the session is in %s already; these changes are still in %s, and not here: %s",
		here.Location.Directory, earlier, names)
}

// FollowProject records that a session works in the directory of to, to which its project was moved (scope.OpenForWork),
// and its subagents with it. No turn of the session runs. A subagent at work follows at its own next turn. A session that
// has been moved since it was read is a conflict.
func (c *Commands) FollowProject(ctx context.Context, read *session.Session, to *scope.Scope) error {
	s, err := c.journal.ReadSession(ctx, read.ID)
	if err != nil {
		return err
	}
	if s.Location.Directory != read.Location.Directory {
		return session.Conflict("session", string(s.ID), "was moved to "+s.Location.Directory+" meanwhile; try again")
	}
	tree, err := c.listSubagents(ctx, s)
	if err != nil {
		return err
	}
	tree = slices.DeleteFunc(tree, func(child *session.Session) bool { return !c.scheduler.IsIdle(child.ID) })
	return c.recordMove(ctx, append(tree, s), to, false)
}

// recordMove records that sessions are in the directory of to, with or without changes. The last one is the session whose
// move it is: until it has moved, the same move can be made again for those that are left.
func (c *Commands) recordMove(ctx context.Context, all []*session.Session, to *scope.Scope, changes bool) error {
	for _, one := range all {
		moved := &session.Moved{
			Location: to.Location, Subdirectory: to.Subpath, ProjectID: to.ProjectID, RecordID: to.RecordID, Changes: changes,
		}
		if err := c.journal.AppendFacts(ctx, one.ID, moved); err != nil {
			return err
		}
	}
	return nil
}
