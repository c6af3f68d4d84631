// Package check verifies the invariants of a store: the log is complete, every prompt, call and ask ended at most once,
// and the rows are the fold of the log. It only reads. A store can be checked at any time, even in use: each session is
// checked in one snapshot.
//
// Tests run it after every scenario and every crash; cairn fsck runs it on a user's data. A violation is a bug of
// cairn or damage of the disk, never a mistake of the user. What a store alone cannot show (what was acknowledged,
// what readers saw, what tools did outside) is checked by the test harnesses that know it.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Report is the result of a check.
type Report struct {
	Sessions   int         `json:"sessions"`
	Events     int         `json:"events"`
	Violations []Violation `json:"violations"` // at most MaxViolations
	Truncated  bool        `json:"truncated,omitzero"`
}

// MaxViolations is the maximum number of violations in a Report.
const MaxViolations = 1000

// Violation is one broken invariant.
type Violation struct {
	Invariant Invariant  `json:"invariant"`
	SessionID session.ID `json:"sessionID,omitzero"`
	Seq       int64      `json:"seq"` // of the event or message, -1 for other rows
	Detail    string     `json:"detail"`
}

// Invariant is the code of an invariant.
type Invariant string

// The invariants that a store alone can show to be broken.
const (
	Gapless  Invariant = "I1"  // seqs are contiguous from 0, positions rise, the first event creates the session
	Admitted Invariant = "I4"  // a prompt is admitted once, and promoted or withdrawn at most once, as it was admitted
	Settled  Invariant = "I6"  // a call settles once, and before its turn ends
	Terminal Invariant = "I8"  // an item, a turn or an ask does not change after its end
	Rebuilt  Invariant = "I9"  // the rows are the fold of the log
	Parent   Invariant = "I10" // the subject of an event exists and began before it
	Epochs   Invariant = "I11" // the context epoch advances by one, with its message
	Resting  Invariant = "I13" // an open turn or call belongs to a session marked as unfinished
	Readable Invariant = "I14" // stored bytes can be read and match their checksum
)

// Run checks the whole store. An error means that the check could not be completed; the report has what it found.
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

// CheckSession checks one session, which a transaction may have just written.
func CheckSession(ctx context.Context, r store.Reader, id session.ID) ([]Violation, error) {
	c := &checker{}
	err := c.checkSession(ctx, r, id)
	return c.result.Violations, err
}

type checker struct{ result Report }

func (c *checker) report(i Invariant, id session.ID, seq int64, format string, args ...any) {
	if len(c.result.Violations) >= MaxViolations {
		c.result.Truncated = true
		return
	}
	c.result.Violations = append(c.result.Violations, Violation{i, id, seq, fmt.Sprintf(format, args...)})
}

// reportDamage turns damage into a violation and returns every other error.
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

// page is the number of events that one read returns.
const page = 1000

// listSessions returns the ids of all sessions that have a row or an event, and checks the order of all events.
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
					c.report(Gapless, row.SessionID, row.Seq, "the event has position %d, after position %d", row.Position, after)
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
