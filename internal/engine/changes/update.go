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
	Selected func(CallChange) bool // not used by CompareSessions
}

// ReadDiff returns the sum of the selected changes for each file, by path. It waits until commands that have ended are
// recorded.
func (r *ChangeRecorder) ReadDiff(ctx context.Context, id session.ID, q DiffQuery) ([]session.ChangedFile, error) {
	l, err := r.readLedger(ctx, id)
	if err != nil {
		return nil, err
	}
	return q.Format.DescribeFiles(ctx, q.Files, l.SumChanges(q.Selected)), nil
}

// CompareSessions returns what leads from the files as the session base left them to those of id, as Ledger.CompareTo.
// It waits like ReadDiff.
func (r *ChangeRecorder) CompareSessions(
	ctx context.Context, id, base session.ID, q DiffQuery,
) ([]session.ChangedFile, error) {
	var ledgers [2]*Ledger
	for i, s := range []session.ID{id, base} {
		if err := r.AwaitSession(ctx, s); err != nil {
			return nil, err
		}
		l, err := ReadLedger(ctx, r.journal.Store, s, -1)
		if err == nil {
			err = r.dropRemoved(ctx, s, l)
		}
		if err != nil {
			return nil, err
		}
		ledgers[i] = l
	}
	return q.Format.DescribeFiles(ctx, q.Files, ledgers[0].CompareTo(ledgers[1])), nil
}

// CountChanges returns the numbers of lines and files of the selected changes. It waits like ReadDiff.
func (r *ChangeRecorder) CountChanges(
	ctx context.Context, id session.ID, selected func(CallChange) bool, files location.Worktree,
) (session.Changes, error) {
	l, err := r.readLedger(ctx, id)
	if err != nil {
		return session.Changes{}, err
	}
	total, _ := l.CountChanges(ctx, files, selected)
	return total, nil
}

// readLedger returns the session's ledger when the tasks of the session are done.
func (r *ChangeRecorder) readLedger(ctx context.Context, id session.ID) (*Ledger, error) {
	if err := r.AwaitSession(ctx, id); err != nil {
		return nil, err
	}
	return r.updateLedger(ctx, id)
}

// recordDiff appends the diff of the prompt, unless it is already stored or the prompt is not that of a user.
func (r *ChangeRecorder) recordDiff(
	ctx context.Context, id session.ID, prompt session.MessageID, files location.Worktree,
) error {
	l, err := r.updateLedger(ctx, id)
	if err != nil {
		return err
	}
	fact := &session.DiffUpdated{MessageID: prompt}
	fact.Diffs = DiffFormat{}.DescribeFiles(
		ctx,
		files,
		l.SumChanges(func(c CallChange) bool { return c.PromptID == prompt }),
	)
	fact.Total, fact.Session = l.CountChanges(ctx, files, func(CallChange) bool { return true })
	var same bool
	err = r.journal.Store.View(ctx, func(rd store.Reader) error {
		s, err := store.FindSession(rd, id)
		if err != nil {
			return err
		}
		m, _, err := store.FindMessage(rd, id, prompt)
		u, isPrompt := m.(*session.User)
		same = !isPrompt || slices.Equal(u.Diffs, fact.Diffs) && s.Changes != nil && *s.Changes == fact.Total
		return err
	})
	if err != nil || same {
		return err
	}
	return r.journal.AppendFacts(ctx, id, fact)
}

// updateLedger returns the session's ledger with what was recorded until now, without the changes of removed messages.
func (r *ChangeRecorder) updateLedger(ctx context.Context, id session.ID) (*Ledger, error) {
	r.mu.Lock()
	l := r.ledgers[id]
	delete(r.ledgers, id) // a concurrent update reads a ledger of its own
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
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.ledgers {
		if len(r.ledgers) < maxLedgers {
			break
		}
		delete(r.ledgers, other)
	}
	r.ledgers[id] = l
	return l, nil
}

// dropRemoved removes the changes of removed messages from the ledger, if messages were removed since the last time.
func (r *ChangeRecorder) dropRemoved(ctx context.Context, id session.ID, l *Ledger) error {
	kept := map[session.MessageID]bool{}
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
			_, ok, err := store.FindMessage(rd, id, c.MessageID)
			if err != nil {
				return err
			}
			kept[c.MessageID] = ok
		}
		l.Changes = slices.DeleteFunc(l.Changes, func(c CallChange) bool { return !kept[c.MessageID] })
		return nil
	})
}
