package admit

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// errHasChildren means that a session has child sessions, so it is not deleted yet.
var errHasChildren = errors.New("the session has child sessions")

// maxDeletionRounds bounds how often a session is stopped again because a wake made it create child sessions.
const maxDeletionRounds = 100

// DeleteSession stops the session and its child sessions and deletes them, except for what they cost. A damaged
// session can be deleted, too. The session stops before its children are read, since its work creates children; those
// that a later wake creates are found by the transaction that deletes the session, and deleted first.
func (c *Commands) DeleteSession(ctx context.Context, id session.ID) error {
	if err := c.checkOpen(); err != nil {
		return err
	}
	// Read what remains of the session: a tombstone.
	last, err := c.journal.ReadSession(ctx, id)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return err
	}
	remains, mayBeFork := session.Session{ID: id}, true
	if last != nil {
		remains, mayBeFork = last.Tombstone(), last.Fork != nil
	}
	// Stop it, delete its children, then delete it, until no new child is found.
	var outputs []string
	err = errHasChildren
	for round := 0; round < maxDeletionRounds && errors.Is(err, errHasChildren); round++ {
		if err := c.scheduler.Stop(ctx, id); err != nil {
			return err
		}
		if err := c.deleteChildren(ctx, id); err != nil {
			return err
		}
		outputs, err = c.commitDeletion(ctx, id, remains)
		for errors.Is(err, store.ErrFull) && c.makeRoom != nil && c.makeRoom() {
			outputs, err = c.commitDeletion(ctx, id, remains)
		}
	}
	if err != nil {
		return err
	}
	if err := fault.PassPoint(ctx, fault.DeletePostCommit); err != nil {
		return err
	}
	if last != nil {
		c.notifyEnded(ctx, last, extension.CauseRemoved)
	}
	// Remove its files, and what this process knows of it.
	if c.outputs != nil {
		c.outputs.RemoveContents(id)
		c.removeOutputs(ctx, id, outputs, mayBeFork)
	}
	return c.scheduler.Forget(context.WithoutCancel(ctx), id)
}

// commitDeletion deletes a session without children and returns the output files that its messages name. A session with
// children is errHasChildren.
func (c *Commands) commitDeletion(
	ctx context.Context, id session.ID, remains session.Session,
) (outputs []string, err error) {
	err = c.journal.Log.AppendDeleted(context.WithoutCancel(ctx), id, remains, func(tx store.Tx) (err error) {
		children, err := store.ReadSessions(tx, store.SessionQuery{ParentID: &id, Archived: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(children) > 0 {
			return errHasChildren
		}
		if outputs, err = listOutputs(tx, id); err != nil {
			return err
		}
		return tx.DeleteSession(id)
	})
	return outputs, err
}

func (c *Commands) deleteChildren(ctx context.Context, id session.ID) error {
	var children []*session.Session
	err := c.journal.Store.View(ctx, func(r store.Reader) (err error) {
		children, err = store.ReadSessions(r, store.SessionQuery{ParentID: &id, Archived: true})
		return err
	})
	if err != nil {
		return err
	}
	for _, child := range children {
		err := c.DeleteSession(ctx, child.ID)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) { // deleted meanwhile
			return err
		}
	}
	return nil
}

// listOutputs returns the paths that the session's calls name. It stops at damaged messages: the host removes old
// output files anyway.
func listOutputs(r store.Reader, id session.ID) (paths []string, err error) {
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

// removeOutputs removes the output files of a deleted session, and those at the paths whose session was deleted before, as
// the source of a fork. Files that a fork may still name stay until that is deleted. The host removes the rest at its next
// start.
func (c *Commands) removeOutputs(ctx context.Context, id session.ID, paths []string, mayBeFork bool) {
	isUnused := func(owner session.ID) (unused bool, err error) {
		if owner == "" { // its name does not say: a fork names files of its source, too
			owner = id
			if mayBeFork {
				return false, nil
			}
		}
		err = c.journal.Store.View(context.WithoutCancel(ctx), func(r store.Reader) (err error) {
			unused, err = OwnsUnusedFiles(r, owner, owner != id || mayBeFork)
			return err
		})
		return unused && err == nil, err
	}
	if err := c.outputs.Remove(id, paths, isUnused); err != nil {
		c.journal.Logger.Warn("remove the tool output of a deleted session", "session", id, "error", err)
	}
}
