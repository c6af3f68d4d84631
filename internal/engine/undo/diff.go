package undo

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// DiffQuery selects changes of a session. The zero value selects all of them.
type DiffQuery struct {
	From   session.MessageID // the first prompt whose answers' changes are selected; "" for all prompts
	To     session.MessageID // the last such prompt; "" for From
	Newest bool              // select the newest prompt; From and To must be ""
	// Against compares with another session of the project, such as a fork, instead of selecting prompts: from its
	// files to those of this session.
	Against session.ID
	Format  DiffFormat
}

// SessionDiff is the changes of files by prompts of a session.
type SessionDiff struct {
	Files   []session.ChangedFile
	Unknown []string // for people: what else they may have changed
}

// ReadDiff returns what the selected prompts, or all, changed in files until now, without what a staged revert took
// back. With Against nothing is unknown. An unknown message or session is a *session.Error of code not-found.
func (r Reverter) ReadDiff(ctx context.Context, id session.ID, q DiffQuery) (out SessionDiff, err error) {
	s, err := r.Journal.ReadSession(ctx, id)
	if err != nil {
		return out, err
	}
	if q.Against != "" {
		out.Files, err = r.compareSessions(ctx, s, q)
		return out, err
	}
	// Select the changes of the prompts that the staged revert did not take back.
	prompts, err := r.selectPrompts(ctx, id, q)
	if err != nil {
		return out, err
	}
	remains, err := r.selectRemaining(ctx, id, s.Revert)
	if err != nil {
		return out, err
	}
	selected := func(c Call) bool { return prompts == nil || prompts[c.PromptID] }
	files, gaps, err := r.Changes.ReadDiff(ctx, id, ChangeQuery{
		Files: r.Files, Format: q.Format,
		Selected: func(c CallChange) bool { return selected(c.Origin) && remains(c) },
	})
	if err != nil {
		return out, err
	}
	// Say what is not known.
	imported := s.Import != nil && prompts == nil
	out = SessionDiff{Files: files, Unknown: r.describeGaps(gaps, selected, imported)}
	if s.Revert != nil && s.Revert.Phase != session.RevertDone {
		out.Unknown = append(out.Unknown, "a revert was interrupted while it restored files: cairn undo completes it")
	}
	return out, nil
}

// describeGaps returns what the selected calls may have changed in files and is not known, for people. If imported is
// set, some of them ran before the session was imported.
func (r Reverter) describeGaps(gaps []Gap, selected func(Call) bool, imported bool) (out []string) {
	if r.Files == nil {
		out = append(out, "snapshots are disabled here: what the calls changed is not known")
	}
	if imported {
		out = append(out, "the session was imported: what its calls changed before is not known here")
	}
	for _, g := range gaps {
		switch {
		case !selected(g.Origin):
		case g.Call != g.Origin:
			out = append(out, fmt.Sprintf("the call %s of the subagent %s: %s", g.CallID, g.SessionID, g.Reason))
		default:
			out = append(out, fmt.Sprintf("the call %s: %s", g.CallID, g.Reason))
		}
	}
	return out
}

func (r Reverter) compareSessions(
	ctx context.Context, s *session.Session, q DiffQuery,
) ([]session.ChangedFile, error) {
	other, err := r.Journal.ReadSession(ctx, q.Against)
	if err != nil {
		return nil, err
	}
	if other.ProjectID != s.ProjectID && (s.RecordID == "" || other.RecordID != s.RecordID) {
		return nil, session.Errorf(session.CodeInvalid,
			"session %q belongs to another project; only sessions of one project can be compared", other.ID).At("against")
	}
	var sides [2]SessionChanges
	for i, side := range []*session.Session{other, s} {
		sides[i].ID = side.ID
		if sides[i].Selected, err = r.selectRemaining(ctx, side.ID, side.Revert); err != nil {
			return nil, err
		}
	}
	return r.Changes.CompareSessions(ctx, sides[0], sides[1], ChangeQuery{Files: r.Files, Format: q.Format})
}

// selectPrompts returns the prompts that the query selects; nil for all.
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
			first, last, err := findBounds(rd, id, q)
			if err != nil {
				return err
			}
			prompts.After, prompts.Before = first-1, last+1
		}
		ms, err := store.ReadMessages(rd, id, prompts)
		for _, m := range ms {
			out[m.Meta().ID] = true
		}
		return err
	})
	return out, err
}

// findBounds returns the seqs of From and To.
func findBounds(r store.Reader, id session.ID, q DiffQuery) (first, last int64, err error) {
	var bounds [2]int64
	for i, m := range []session.MessageID{q.From, cmp.Or(q.To, q.From)} {
		found, ok, err := store.FindMessage(r, id, m)
		if err != nil {
			return 0, 0, err
		}
		if !ok {
			return 0, 0, session.NotFound("message", string(m))
		}
		bounds[i] = found.Meta().Seq
	}
	return bounds[0], bounds[1], nil
}

// countRemaining returns the numbers of lines and files that the session changed, without those that the revert, if not
// nil, took back. It is nil, and a warning is logged, if that cannot be read.
func (r Reverter) countRemaining(ctx context.Context, id session.ID, staged *session.Revert) *session.Changes {
	remains, err := r.selectRemaining(ctx, id, staged)
	if err == nil {
		var total session.Changes
		if total, err = r.Changes.CountChanges(ctx, id, remains, r.Files); err == nil {
			return &total
		}
	}
	r.Journal.Logger.Warn("cannot count what a session changed", "session", id, "error", err)
	return nil
}

// selectRemaining returns a filter for the changes that the revert, if not nil, did not take back.
func (r Reverter) selectRemaining(
	ctx context.Context, id session.ID, staged *session.Revert,
) (func(CallChange) bool, error) {
	if staged == nil {
		return func(CallChange) bool { return true }, nil
	}
	restored := map[session.FilePath]bool{}
	for _, f := range staged.Files {
		restored[f.Path] = true
	}
	var taken revertRange
	err := r.Journal.Store.View(ctx, func(rd store.Reader) (err error) {
		taken, err = readRange(rd, id, pointOf(staged))
		return err
	})
	return func(c CallChange) bool { return !restored[c.Path] || !taken.contains(c.Origin) }, err
}
