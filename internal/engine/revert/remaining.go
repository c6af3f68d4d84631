package revert

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// DiffQuery selects changes of a session.
type DiffQuery struct {
	From session.MessageID // a prompt: what its answers changed; "" for the whole session
	To   session.MessageID // with the answers to the later prompts, through this one; "" for those of From alone
	// Newest is as the newest prompt as From.
	Newest bool
	// Against compares with another session instead, such as a fork: from its files to those of this session.
	Against session.ID
	Format  changes.DiffFormat
}

// ReadDiff returns what the session changed in files until now. What a staged revert took back is left out. An unknown
// message is a *session.Error of code not-found.
func (r Reverter) ReadDiff(ctx context.Context, id session.ID, q DiffQuery) ([]session.ChangedFile, error) {
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil {
		return nil, err
	}
	if q.Against != "" {
		return r.compareSessions(ctx, s, q)
	}
	prompts, err := r.selectPrompts(ctx, id, q)
	if err != nil {
		return nil, err
	}
	remains, err := r.selectRemaining(ctx, id, s.Revert)
	if err != nil {
		return nil, err
	}
	selected := func(c changes.CallChange) bool {
		return (prompts == nil || prompts[c.PromptID]) && remains(c)
	}
	return r.Changes.ReadDiff(ctx, id, changes.DiffQuery{Files: r.Files, Format: q.Format, Selected: selected})
}

func (r Reverter) compareSessions(
	ctx context.Context, s *session.Session, q DiffQuery,
) ([]session.ChangedFile, error) {
	other, err := r.Journal.ReadSession(ctx, q.Against)
	if err != nil {
		return nil, err
	}
	if other.ProjectID != s.ProjectID {
		return nil, session.Errorf(session.CodeInvalid,
			"session %q belongs to another project; only sessions of one project can be compared", other.ID).At("against")
	}
	return r.Changes.CompareSessions(ctx, s.ID, other.ID, changes.DiffQuery{Files: r.Files, Format: q.Format})
}

// selectPrompts returns the prompts of the query; nil for all.
func (r Reverter) selectPrompts(
	ctx context.Context, id session.ID, q DiffQuery,
) (out map[session.MessageID]bool, err error) {
	if q.From == "" && !q.Newest {
		return nil, nil
	}
	out = map[session.MessageID]bool{}
	prompts := store.MessageQuery{After: -1, Type: session.TypeUser}
	err = r.Journal.Store.View(ctx, func(rd store.Reader) error {
		if q.From == "" {
			prompts.Newest, prompts.Limit = true, 1
		} else {
			var bounds [2]int64
			for i, m := range []session.MessageID{q.From, cmp.Or(q.To, q.From)} {
				found, ok, err := store.FindMessage(rd, id, m)
				if err != nil {
					return err
				}
				if !ok {
					return session.NotFound("message", string(m))
				}
				bounds[i] = found.Meta().Seq
			}
			prompts.After, prompts.Before = bounds[0]-1, bounds[1]+1
		}
		ms, err := store.ReadMessages(rd, id, prompts)
		for _, m := range ms {
			out[m.Meta().ID] = true
		}
		return err
	})
	return out, err
}

// countRemaining returns the size of what the session changed, without what the revert, if any, took back; nil if that
// cannot be read.
func (r Reverter) countRemaining(ctx context.Context, id session.ID, staged *session.Revert) *session.Changes {
	remains, err := r.selectRemaining(ctx, id, staged)
	if err == nil {
		var total session.Changes
		if total, err = r.Changes.CountChanges(ctx, id, remains, r.Files); err == nil {
			return &total
		}
	}
	r.Journal.Logger.Warn("what a session changed could not be counted", "session", id, "error", err)
	return nil
}

// selectRemaining selects the changes that the revert, if any, did not take back.
func (r Reverter) selectRemaining(
	ctx context.Context, id session.ID, staged *session.Revert,
) (func(changes.CallChange) bool, error) {
	if staged == nil {
		return func(changes.CallChange) bool { return true }, nil
	}
	restored := map[session.FilePath]bool{}
	for _, f := range staged.Files {
		restored[f.Path] = true
	}
	var scope revertRange
	err := r.Journal.Store.View(ctx, func(rd store.Reader) (err error) {
		scope, err = readRange(rd, id, pointOf(staged))
		return err
	})
	return func(c changes.CallChange) bool { return !restored[c.Path] || !scope.contains(c.Call) }, err
}
