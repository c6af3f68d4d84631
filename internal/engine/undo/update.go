package undo

import (
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// UpdateDiff records in the background the diff of the prompt, the number of lines that the session changed, and the
// files that it shares with other sessions. A failure is logged only.
func (r *ChangeRecorder) UpdateDiff(
	ctx context.Context,
	id session.ID,
	prompt session.MessageID,
	files scope.Worktree,
) {
	ctx = context.WithoutCancel(ctx)
	r.StartTask(id, func() {
		differs, err := r.recordDiff(ctx, id, prompt, files)
		if err == nil && differs {
			err = errors.Join(r.updateParent(ctx, id, prompt, files), r.recordShared(ctx, id))
		}
		if err != nil {
			r.journal.Logger.Warn("cannot record the diff of a session", "session", id, "error", err)
		}
	})
}

// updateParent updates the diff of the session for whose task the session works on the prompt, if it does.
func (r *ChangeRecorder) updateParent(
	ctx context.Context, id session.ID, prompt session.MessageID, files scope.Worktree,
) error {
	s, err := r.journal.ReadSession(ctx, id)
	if err != nil || s.ParentID == "" {
		return err
	}
	parent, err := r.takeLedger(ctx, s.ParentID)
	if err != nil {
		return err
	}
	defer r.putLedger(s.ParentID, parent)
	if parent.tasks, err = r.readTasks(ctx, s.ParentID, parent.tasks); err != nil {
		return err
	}
	if call, ok := parent.tasks.calls[prompt]; ok {
		r.UpdateDiff(ctx, s.ParentID, call.PromptID, files)
	}
	return nil
}

// ChangeQuery selects changes of a session and the form of their patches.
type ChangeQuery struct {
	Files    scope.Worktree // of the session; nil: the files have no lines
	Format   DiffFormat
	Selected func(CallChange) bool
}

// ReadDiff returns the sum of the selected changes for each file, by path, and the calls some of whose changes are not
// known. It waits until commands that have ended are recorded.
func (r *ChangeRecorder) ReadDiff(
	ctx context.Context, id session.ID, q ChangeQuery,
) (files []session.ChangedFile, gaps []Gap, err error) {
	if err := r.awaitTree(ctx, id); err != nil {
		return nil, nil, err
	}
	var found []CallChange
	err = r.useLedger(ctx, id, func(l *Ledger) { found, gaps = l.SelectChanges(q.Selected), l.Gaps })
	if err != nil {
		return nil, nil, err
	}
	files = q.Format.DescribeFiles(ctx, q.Files, dropUnchanged(sumChanges(found)))
	nameAuthors(files, found)
	return files, gaps, nil
}

// SessionChanges selects changes of a session.
type SessionChanges struct {
	ID       session.ID
	Selected func(CallChange) bool
}

// CompareSessions returns what leads from the files as the selected changes of base left them to those of to. A file
// that one of them did not change is in the state in which the other one found it. It waits like ReadDiff. Selected of
// the query is not used.
func (r *ChangeRecorder) CompareSessions(
	ctx context.Context, base, to SessionChanges, q ChangeQuery,
) ([]session.ChangedFile, error) {
	var sums [2]map[session.FilePath]session.FileChange
	for i, s := range []SessionChanges{base, to} {
		if err := r.awaitTree(ctx, s.ID); err != nil {
			return nil, err
		}
		err := r.useLedger(ctx, s.ID, func(l *Ledger) { sums[i] = sumChanges(l.SelectChanges(s.Selected)) })
		if err != nil {
			return nil, err
		}
	}
	return q.Format.DescribeFiles(ctx, q.Files, compareSums(sums[0], sums[1])), nil
}

// CountChanges returns the numbers of lines and files of the selected changes. It waits like ReadDiff.
func (r *ChangeRecorder) CountChanges(
	ctx context.Context, id session.ID, selected func(CallChange) bool, files scope.Worktree,
) (session.Changes, error) {
	if err := r.awaitTree(ctx, id); err != nil {
		return session.Changes{}, err
	}
	var total session.Changes
	err := r.useLedger(ctx, id, func(l *Ledger) { total, _ = l.CountChanges(ctx, files, selected) })
	return total, err
}

// recordDiff appends the diff of the prompt, or of the command of the user, with the totals of the session, unless both
// are stored as they are. It reports whether it appended them. A command of the user stores the totals only, so only
// these are compared.
func (r *ChangeRecorder) recordDiff(
	ctx context.Context, id session.ID, prompt session.MessageID, files scope.Worktree,
) (differs bool, err error) {
	// Compute the diff and the totals.
	fact := &session.DiffUpdated{MessageID: prompt}
	err = r.useLedger(ctx, id, func(l *Ledger) {
		answers := l.SelectChanges(func(c CallChange) bool { return c.Origin.PromptID == prompt })
		fact.Diffs = DiffFormat{}.DescribeFiles(ctx, files, dropUnchanged(sumChanges(answers)))
		nameAuthors(fact.Diffs, answers)
		fact.Total, fact.Session = l.CountChanges(ctx, files, func(CallChange) bool { return true })
	})
	if err != nil {
		return false, err
	}
	// Compare them with what is stored.
	var same bool
	err = r.journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		m, _, err := store.FindMessage(rd, id, prompt)
		u, isPrompt := m.(*session.User)
		if isPrompt {
			same = slices.EqualFunc(u.Diffs, fact.Diffs, session.ChangedFile.Equal) &&
				s.Changes != nil && *s.Changes == fact.Total
		} else {
			same = s.Changes == nil && fact.Total == session.Changes{} || s.Changes != nil && *s.Changes == fact.Total
		}
		return err
	})
	if err != nil || same {
		return false, err
	}
	return true, r.journal.AppendFacts(ctx, id, fact)
}
