package ask

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// BudgetUsage is what the work has used so far.
type BudgetUsage struct {
	Turns  int64 // since the newest input
	Cost   session.USD
	Tokens int64
	Wall   time.Duration // on the newest input
}

// BudgetError reports a limit that is used up and was not extended.
type BudgetError struct {
	Limit    Limit
	Used     string
	Allowed  string
	Feedback string // of the person who refused to extend it
}

func (e *BudgetError) Error() string {
	text := fmt.Sprintf("the budget is used up: %s of %s %s", e.Used, e.Allowed, e.Limit)
	if e.Feedback != "" {
		text += " (" + e.Feedback + ")"
	}
	return text
}

// findExceeded returns the first limit that another turn would exceed, nil if none. Each grant allows the limit once
// more. A limit of 0 is not checked.
func findExceeded(b session.Budget, u BudgetUsage, granted map[Limit]int64) *BudgetError {
	formatCount := func(n int64) string { return fmt.Sprint(n) }
	for _, l := range []struct {
		name        Limit
		used, limit int64
		format      func(int64) string
	}{
		{LimitTurns, u.Turns, int64(b.Turns), formatCount},
		{LimitCost, int64(u.Cost), int64(b.USD), func(n int64) string { return session.USD(n).String() }},
		{LimitTokens, u.Tokens, b.Tokens, formatCount},
		{LimitWall, u.Wall.Milliseconds(), b.Wall, func(n int64) string { return fmt.Sprint(n, "ms") }},
	} {
		allowed := l.limit * (1 + granted[l.name])
		if l.limit > 0 && l.used >= allowed {
			return &BudgetError{Limit: l.name, Used: l.format(l.used), Allowed: l.format(allowed)}
		}
	}
	return nil
}

// BudgetCheck is a budget, what is used of it, and how often it was extended.
type BudgetCheck struct {
	Budget session.Budget
	Usage  BudgetUsage
	Grants *Grants
}

// CheckBudget asks before a turn that would exceed a limit of the budget. Permission extends the limit by its own
// amount. It returns a *BudgetError if the limit is not extended. The policy allow does not extend budgets: they
// bound what an unattended run can use.
func (a *Asks) CheckBudget(ctx context.Context, by Asker, c BudgetCheck) error {
	if findExceeded(c.Budget, c.Usage, nil) == nil {
		return nil
	}
	if err := c.Grants.read(ctx, a.journal.Store, by.SessionID); err != nil {
		return err
	}
	exceeded := findExceeded(c.Budget, c.Usage, c.Grants.count)
	if exceeded == nil {
		return nil
	}
	by.Policy = by.Policy.forBudget()
	err := a.Authorize(ctx, by, tool.Request{
		Action: ActionBudget, Resources: []string{string(exceeded.Limit)},
		Metadata: encodeObject(map[string]any{"limit": exceeded.Allowed, "spent": exceeded.Used}),
	})
	if denied, ok := errors.AsType[*tool.Denial](err); ok {
		exceeded.Feedback = denied.Feedback
		return exceeded
	}
	return err
}

func encodeObject(m map[string]any) jsontext.Value {
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}
