package changes

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// maxLedgers bounds the ledgers in memory.
const maxLedgers = 64

// UpdateDiff records in the background the diff of the prompt, and the number of lines that the session changed. A
// failure is logged only.
func (r *ChangeRecorder) UpdateDiff(
	ctx context.Context,
	id session.ID,
	prompt session.MessageID,
	files location.Worktree,
) {
	ctx = context.WithoutCancel(ctx)
	r.StartTask(id, func() {
		if err := r.recordDiff(ctx, id, prompt, files); err != nil {
			r.journal.Logger.Warn("cannot record the diff of a session", "session", id, "error", err)
		}
	})
}

// DiffQuery selects changes of a session and the form of their patches.
type DiffQuery struct {
	Files    location.Worktree // of the session; nil: the files have no lines
	Format   DiffFormat
	Selected func(CallChange) bool
}

// ReadDiff returns the sum of the selected changes for each file, by path, and the calls some of whose changes are not
// known. It waits until commands that have ended are recorded.
func (r *ChangeRecorder) ReadDiff(
	ctx context.Context, id session.ID, q DiffQuery,
) (files []session.ChangedFile, gaps []Gap, err error) {
	if err := r.AwaitSession(ctx, id); err != nil {
		return nil, nil, err
	}
	var sum []session.FileChange
	err = r.useLedger(ctx, id, func(l *Ledger) {
		sum, gaps = l.SumChanges(q.Selected), slices.Clone(l.Gaps)
	})
	if err != nil {
		return nil, nil, err
	}
	return q.Format.DescribeFiles(ctx, q.Files, sum), gaps, nil
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
	ctx context.Context, base, to SessionChanges, q DiffQuery,
) ([]session.ChangedFile, error) {
	var sums [2]map[session.FilePath]session.FileChange
	for i, s := range []SessionChanges{base, to} {
		if err := r.AwaitSession(ctx, s.ID); err != nil {
			return nil, err
		}
		err := r.useLedger(ctx, s.ID, func(l *Ledger) { sums[i] = l.sumSelected(s.Selected) })
		if err != nil {
			return nil, err
		}
	}
	return q.Format.DescribeFiles(ctx, q.Files, compareSums(sums[0], sums[1])), nil
}

// CountChanges returns the numbers of lines and files of the selected changes. It waits like ReadDiff.
func (r *ChangeRecorder) CountChanges(
	ctx context.Context, id session.ID, selected func(CallChange) bool, files location.Worktree,
) (session.Changes, error) {
	if err := r.AwaitSession(ctx, id); err != nil {
		return session.Changes{}, err
	}
	var total session.Changes
	err := r.useLedger(ctx, id, func(l *Ledger) { total, _ = l.CountChanges(ctx, files, selected) })
	return total, err
}

// recordDiff appends the diff of the prompt, or of the command of the user, unless it is already stored. Only prompts
// store theirs; the totals of the session are stored with both.
func (r *ChangeRecorder) recordDiff(
	ctx context.Context, id session.ID, prompt session.MessageID, files location.Worktree,
) error {
	fact := &session.DiffUpdated{MessageID: prompt}
	err := r.useLedger(ctx, id, func(l *Ledger) {
		answers := l.SumChanges(func(c CallChange) bool { return c.PromptID == prompt })
		fact.Diffs = DiffFormat{}.DescribeFiles(ctx, files, answers)
		fact.Total, fact.Session = l.CountChanges(ctx, files, func(CallChange) bool { return true })
	})
	if err != nil {
		return err
	}
	var same bool
	err = r.journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		m, _, err := store.FindMessage(rd, id, prompt)
		u, isPrompt := m.(*session.User)
		if isPrompt {
			same = slices.Equal(u.Diffs, fact.Diffs) && s.Changes != nil && *s.Changes == fact.Total
		} else {
			same = s.Changes == nil && fact.Total == session.Changes{} || s.Changes != nil && *s.Changes == fact.Total
		}
		return err
	})
	if err != nil || same {
		return err
	}
	return r.journal.AppendFacts(ctx, id, fact)
}

// useLedger calls use with the session's ledger, which has what was recorded until now, without the changes of removed
// messages and parts. use must not hold on to the ledger.
func (r *ChangeRecorder) useLedger(ctx context.Context, id session.ID, use func(*Ledger)) error {
	r.mu.Lock()
	l := r.ledgers[id]
	delete(r.ledgers, id) // a concurrent use reads a ledger of its own
	r.mu.Unlock()
	var err error
	if l == nil {
		l, err = ReadLedger(ctx, r.journal.Store, id, -1)
	} else {
		err = l.readNew(ctx, r.journal.Store, id)
	}
	if err == nil {
		err = r.dropRemoved(ctx, id, l)
	}
	if err != nil {
		return err
	}
	use(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.ledgers {
		if len(r.ledgers) < maxLedgers {
			break
		}
		delete(r.ledgers, other)
	}
	r.ledgers[id] = l
	return nil
}

// dropRemoved removes the changes of removed messages and parts from the ledger, if messages were edited since the last
// time.
func (r *ChangeRecorder) dropRemoved(ctx context.Context, id session.ID, l *Ledger) error {
	kept := map[session.MessageID]session.Message{}
	return r.journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil || s.Edits == l.edits {
			return err
		}
		l.edits = s.Edits
		for _, c := range l.Changes {
			if _, known := kept[c.MessageID]; known {
				continue
			}
			if kept[c.MessageID], _, err = store.FindMessage(rd, id, c.MessageID); err != nil {
				return err
			}
		}
		l.Changes = slices.DeleteFunc(l.Changes, func(c CallChange) bool {
			return !hasPart(kept[c.MessageID], c.PartID)
		})
		return nil
	})
}

// hasPart reports whether the message, nil if it was removed, has the part. The "" of changes that no call made is a
// part of every message.
func hasPart(m session.Message, part session.PartID) bool {
	a, isTurn := m.(*session.Assistant)
	if !isTurn || part == "" {
		return m != nil
	}
	return slices.ContainsFunc(a.Content, func(c session.Content) bool { return c.ItemID() == part })
}
