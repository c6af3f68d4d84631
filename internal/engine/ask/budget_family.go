package ask

import (
	"context"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// BudgetUsage is the usage of the work so far.
type BudgetUsage struct {
	Turns  int64 // since the newest input
	Cost   session.USD
	Tokens int64
	Wall   time.Duration // on the newest input
	// Unpriced names the model if the next request would have no known cost; "" if its cost will be known.
	Unpriced string
}

// BudgetCheck is the budget of a session, what the session itself used of it, and how often it was extended.
type BudgetCheck struct {
	Budget   session.Budget
	MaxTurns int // of the session alone, unless the budget limits turns
	Usage    BudgetUsage
	Grants   *Grants
	Parent   session.ID // whose budget counts as well
}

// budgetOwner is a session whose budget a turn uses, with what it and its descendants used.
type budgetOwner struct {
	ancestor session.ID // "" for the session of the turn
	budget   session.Budget
	usage    BudgetUsage
}

// listBudgets returns the budgets that bound the next turn of a session, its own and those of its ancestors, and the
// session's newest event.
func (a *Asks) listBudgets(
	ctx context.Context, id session.ID, c BudgetCheck,
) (owners []budgetOwner, head int64, err error) {
	// The own budget alone suffices for a session without parent and without shared limits.
	own := budgetOwner{budget: c.Budget, usage: c.Usage}
	if own.budget.Turns <= 0 {
		own.budget.Turns = c.MaxTurns
	}
	if c.Parent == "" && !isShared(c.Budget) {
		return []budgetOwner{own}, 0, nil
	}
	owners = []budgetOwner{own}
	err = a.journal.Store.View(ctx, func(r store.Reader) (err error) {
		// What child sessions used counts for the session itself.
		if head, err = r.Head(id); err != nil {
			return err
		}
		if err := a.running.addDescendants(r, id, c.Budget, &owners[0].usage); err != nil {
			return err
		}
		// Go up: each ancestor with a budget bounds the turn, too.
		wall := c.Usage.Wall
		seen := map[session.ID]bool{"": true, id: true}
		for parent := c.Parent; !seen[parent]; {
			seen[parent] = true
			s, found, err := r.Session(parent)
			if err != nil || !found {
				return err
			}
			if w, ok := a.running.sessions[s.ID]; ok { // else a task in the background outlives the parent's turn
				wall = max(wall, a.journal.Now().Sub(w.started))
			}
			if s.Budget != nil {
				o, err := a.running.readOwner(r, s)
				if err != nil {
					return err
				}
				o.usage.Wall, o.usage.Unpriced = wall, c.Usage.Unpriced
				owners = append(owners, o)
			}
			parent = s.ParentID
		}
		return nil
	})
	return owners, head, err
}

// readOwner returns the ancestor with the usage of it and its descendants, without the time.
func (w *liveUsage) readOwner(r store.Reader, s *session.Session) (o budgetOwner, err error) {
	o = budgetOwner{ancestor: s.ID, budget: *s.Budget}
	o.usage.Cost, o.usage.Tokens = w.readSpent(s)
	if s.Budget.Turns > 0 {
		if o.usage.Turns, err = countTurns(r, s.ID); err != nil {
			return o, err
		}
	}
	return o, w.addDescendants(r, s.ID, o.budget, &o.usage)
}

// isShared reports whether the budget has a limit to which descendants count. Time passes for all of them at once.
func isShared(b session.Budget) bool { return b.USD > 0 || b.Tokens > 0 || b.Turns > 0 }

// countTurns returns the number of turns of the session since its newest prompt.
func countTurns(r store.Reader, id session.ID) (n int64, err error) {
	q := store.MessageQuery{After: -1, Type: session.TypeAssistant}
	prompt, found, err := store.NewestMessage(r, id, session.TypeUser)
	if err != nil {
		return 0, err
	}
	if found {
		q.After = prompt.Meta().Seq
	}
	err = r.RawMessages(id, q, func(*store.RawMessage) error { n++; return nil })
	return n, err
}

// addDescendants adds what the descendants of a session used of its budget: all that they cost, and their turns since
// the session's newest prompt.
func (w *liveUsage) addDescendants(r store.Reader, id session.ID, b session.Budget, u *BudgetUsage) error {
	if !isShared(b) {
		return nil
	}
	below, err := store.ReadSessions(r, store.SessionQuery{Ancestor: id, Archived: true})
	if err != nil {
		return err
	}
	// Turns count since the newest prompt, costs and tokens over the whole life of a session.
	since := int64(0)
	if b.Turns > 0 {
		prompt, found, err := store.NewestMessage(r, id, session.TypeUser)
		if err != nil {
			return err
		}
		if found {
			since = prompt.Meta().Time.Created
		}
	}
	for _, s := range below {
		cost, tokens := w.readSpent(s)
		u.Cost, u.Tokens = u.Cost+cost, u.Tokens+tokens
		if b.Turns <= 0 {
			continue
		}
		ended, err := r.Spent(s.ID, since)
		if err != nil {
			return err
		}
		u.Turns += int64(len(ended))
		// A turn that runs counts before it has ended, but only once.
		work := w.sessions[s.ID]
		hasEnded := slices.ContainsFunc(ended, func(l store.Spend) bool { return l.Seq > work.head })
		if work.open && !hasEnded {
			u.Turns++
		}
	}
	return nil
}
