// Package check holds a store against what cairn promises of it (spec/guarantees §5.7): the log is whole, every prompt,
// call and ask came to at most one end, and the rows are what the log says. It only reads, and any store may be checked
// at any time, also while it is at work: each session is looked at in one snapshot.
//
// Tests run it after every scenario and every crash; cairn fsck runs it on a user's data. A violation is a fault of
// ours or of the disk, never of the user. What cannot be judged from a store alone (what was acknowledged, what
// readers saw, what tools did outside) is for the harnesses that know it.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Report is what a check found.
type Report struct {
	Sessions   int         `json:"sessions"`
	Events     int         `json:"events"`
	Violations []Violation `json:"violations"` // at most MaxViolations
	Truncated  bool        `json:"truncated,omitzero"`
}

// MaxViolations is how many violations a Report holds.
const MaxViolations = 1000

// OK reports whether nothing was found.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

// Violation is one promise that a store does not keep.
type Violation struct {
	Invariant Invariant  `json:"invariant"`
	SessionID session.ID `json:"sessionID,omitzero"`
	Seq       int64      `json:"seq"` // of the event or message at fault, -1 if it is no single one
	Detail    string     `json:"detail"`
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s#%d: %s", v.Invariant, v.SessionID, v.Seq, v.Detail)
}

// Invariant names a promise, by the numbers of spec/guarantees §5.7.
type Invariant string

// The invariants that a store alone can break.
const (
	Gapless  Invariant = "I1"  // seqs are contiguous from 0, positions rise, the first event creates the session
	Admitted Invariant = "I4"  // a prompt is admitted once, and promoted or withdrawn at most once, as it was admitted
	Settled  Invariant = "I6"  // a call settles once, and before its turn ends
	Terminal Invariant = "I8"  // nothing happens to an item, a turn or an ask after its end
	Rebuilt  Invariant = "I9"  // the rows are the fold of the log
	Parent   Invariant = "I10" // what an event is about exists, and began before it
	Epochs   Invariant = "I11" // the context epoch advances by one, with the message that tells of it
	Resting  Invariant = "I13" // what is open belongs to a session that a restart will look at
	Readable Invariant = "I14" // stored bytes can be read and are those that were written
)

// Run checks the whole store. An error says that the check itself could not be made; what it found is in the report.
func Run(ctx context.Context, s store.Store) (Report, error) {
	c := &checker{result: Report{Violations: []Violation{}}}
	ids, err := c.listSessions(ctx, s)
	if err != nil {
		return c.result, fmt.Errorf("check: %w", err)
	}
	for _, id := range ids {
		if ctx.Err() != nil {
			return c.result, context.Cause(ctx)
		}
		err := s.View(ctx, func(r store.Reader) error { return c.checkSession(ctx, r, id) })
		if err != nil {
			if err = c.reportDamage(id, err); err != nil {
				return c.result, fmt.Errorf("check session %s: %w", id, err)
			}
		}
	}
	return c.result, nil
}

type checker struct{ result Report }

func (c *checker) report(i Invariant, id session.ID, seq int64, format string, args ...any) {
	if len(c.result.Violations) >= MaxViolations {
		c.result.Truncated = true
		return
	}
	c.result.Violations = append(c.result.Violations, Violation{i, id, seq, fmt.Sprintf(format, args...)})
}

// reportDamage turns damage into a violation and passes on every other error.
func (c *checker) reportDamage(id session.ID, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	seq := int64(-1)
	if d, ok := errors.AsType[*store.Damage](err); ok {
		seq = d.Seq
		if d.SessionID != "" {
			id = d.SessionID
		}
	}
	c.report(Readable, id, seq, "%v", err)
	return nil
}

// page is how many events are read at once.
const page = 1000

// listSessions returns the ids of everything that has a row or an event, and looks at the order of all events.
func (c *checker) listSessions(ctx context.Context, s store.Store) ([]session.ID, error) {
	seen := map[session.ID]bool{}
	err := s.View(ctx, func(r store.Reader) error {
		rows, err := store.ReadSessions(r, store.SessionQuery{Archived: true})
		for _, row := range rows {
			seen[row.ID] = true
		}
		return err
	})
	if err != nil {
		if err = c.reportDamage("", err); err != nil {
			return nil, err
		}
	}
	if err := c.checkFeed(ctx, s, seen); err != nil {
		return nil, err
	}
	c.result.Sessions = len(seen)
	ids := make([]session.ID, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

func (c *checker) checkFeed(ctx context.Context, s store.Store, seen map[session.ID]bool) error {
	after := int64(0)
	for more := true; more; {
		err := s.View(ctx, func(r store.Reader) error {
			rows, err := r.Events("", after, page)
			more = len(rows) == page
			for _, row := range rows {
				if row.Position <= after {
					c.report(
						Gapless, row.SessionID, row.Seq, "the event has position %d, behind one of %d", row.Position,
						after,
					)
				}
				after = row.Position
				c.result.Events++
				if row.Kind != session.KindDeleted {
					seen[row.SessionID] = true
				}
			}
			return err
		})
		if err != nil {
			return c.reportDamage("", err)
		}
	}
	return nil
}
