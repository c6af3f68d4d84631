package ask

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// BudgetUsage is what the work has used so far.
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
	Budget session.Budget
	Usage  BudgetUsage
	Grants *Grants
	Parent session.ID // whose budget counts as well
}

// budgetOwner is a session whose budget a turn uses, with what it and its descendants used.
type budgetOwner struct {
	ancestor session.ID // "" for the session of the turn
	budget   session.Budget
	usage    BudgetUsage
}

// listBudgets returns the budgets that bound the next turn of a session: its own, and those of its ancestors as far
// as they limit cost or tokens; turns and time are counted per prompt.
func (a *Asks) listBudgets(ctx context.Context, id session.ID, c BudgetCheck) ([]budgetOwner, error) {
	own := budgetOwner{budget: c.Budget, usage: c.Usage}
	if c.Parent == "" && !isShared(c.Budget) {
		return []budgetOwner{own}, nil
	}
	var ancestors []budgetOwner
	err := a.journal.Store.View(ctx, func(r store.Reader) error {
		if err := own.addDescendants(r, id); err != nil {
			return err
		}
		seen := map[session.ID]bool{"": true, id: true}
		for parent := c.Parent; !seen[parent]; {
			seen[parent] = true
			s, found, err := r.Session(parent)
			if err != nil || !found {
				return err
			}
			if s.Budget != nil && isShared(*s.Budget) {
				o := budgetOwner{
					ancestor: s.ID, budget: session.Budget{USD: s.Budget.USD, Tokens: s.Budget.Tokens},
					usage: BudgetUsage{Cost: s.Cost, Tokens: s.Tokens.Sum(), Unpriced: c.Usage.Unpriced},
				}
				if err := o.addDescendants(r, s.ID); err != nil {
					return err
				}
				ancestors = append(ancestors, o)
			}
			parent = s.ParentID
		}
		return nil
	})
	return append([]budgetOwner{own}, ancestors...), err
}

// isShared reports whether the budget has a limit to which descendants count.
func isShared(b session.Budget) bool { return b.USD > 0 || b.Tokens > 0 }

// addDescendants adds what the descendants of a session used.
func (o *budgetOwner) addDescendants(r store.Reader, id session.ID) error {
	if !isShared(o.budget) {
		return nil
	}
	cost, tokens, err := store.SumDescendants(r, id)
	o.usage.Cost, o.usage.Tokens = o.usage.Cost+cost, o.usage.Tokens+tokens.Sum()
	return err
}
