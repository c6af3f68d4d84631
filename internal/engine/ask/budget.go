package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// BudgetError reports a limit that is used up and was not extended.
type BudgetError struct {
	Limit    Limit
	Used     string
	Allowed  string
	Owner    session.ID // the ancestor whose budget it is; "" for the session's own
	Feedback string     // of the person who refused to extend it
}

func (e *BudgetError) Error() string {
	text := fmt.Sprintf("the budget is used up: %s of %s %s", e.Used, e.Allowed, e.Limit)
	if e.Limit == LimitPrice {
		provider, model, _ := strings.Cut(e.Used, "/")
		text = fmt.Sprintf("the price of %s is unknown, so the budget of $%s cannot be checked; "+
			"set provider.%s.models.%s.cost, choose another model, or limit the tokens", e.Used, e.Allowed, provider, model)
	}
	if e.Owner != "" {
		text += fmt.Sprintf(" (of the parent session %s and its children)", e.Owner)
	}
	if e.Feedback != "" {
		text += " (" + e.Feedback + ")"
	}
	return text
}

// findExceeded returns the first limit that another turn would exceed, nil if none. Each grant allows the limit once
// more. A limit of 0 is not checked.
func findExceeded(b session.Budget, u BudgetUsage, granted map[Limit]int64) *BudgetError {
	if b.USD > 0 && u.Unpriced != "" && granted[LimitPrice] == 0 {
		return &BudgetError{Limit: LimitPrice, Used: u.Unpriced, Allowed: b.USD.String()}
	}
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

// CheckBudget asks before a turn that would exceed a limit of the budget, or of an ancestor's. What children used
// counts for their parents, with the turns that are still open. Permission extends the limit by its own amount. It
// returns a *BudgetError if the limit is not extended. The policy allow does not extend budgets: they bound what an
// unattended run can use.
func (a *Asks) CheckBudget(ctx context.Context, by Asker, c BudgetCheck) error {
	asked := map[session.ID]bool{}
	for {
		exceeded, err := a.admitTurn(ctx, by, c, asked)
		if exceeded == nil || err != nil {
			return err
		}
		asked[exceeded.Owner] = true
		if err := a.askBudget(ctx, by, exceeded); err != nil {
			return err
		}
	}
}

// admitTurn returns the first limit that the next turn would exceed, without those of asked. Otherwise it returns nil,
// and the turn counts from now on: of several children that ask at the same time only as many begin a turn as may.
func (a *Asks) admitTurn(
	ctx context.Context, by Asker, c BudgetCheck, asked map[session.ID]bool,
) (*BudgetError, error) {
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	// Check every budget above the turn, and count the turn, under one lock.
	owners, head, err := a.listBudgets(ctx, by.SessionID, c)
	if err != nil {
		return nil, err
	}
	for _, o := range owners {
		if asked[o.ancestor] {
			continue
		}
		if exceeded, err := a.findExceededOf(ctx, by.SessionID, c.Grants, o); exceeded != nil || err != nil {
			return exceeded, err
		}
	}
	a.running.sessions[by.SessionID] = liveWork{started: a.journal.Now().Add(-c.Usage.Wall), open: true, head: head}
	return nil, nil
}

// RecordAnswer counts the answer of an open turn whose calls run. s is the session as the turn found it.
func (a *Asks) RecordAnswer(s *session.Session, started time.Time, answer *session.Answer) {
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	w := a.running.sessions[s.ID]
	w.started, w.cost, w.tokens = started, s.Cost+answer.Cost, s.Tokens.Sum()+answer.Tokens.Sum()
	a.running.sessions[s.ID] = w
}

// EndWork forgets the work of the session, all of which is recorded.
func (a *Asks) EndWork(id session.ID) {
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	delete(a.running.sessions, id)
}

// CheckSpent returns a *BudgetError if the session, or an ancestor with its descendants, has used the cost or the
// tokens of its budget. It does not ask: it is for requests that no prompt waits for.
func (a *Asks) CheckSpent(ctx context.Context, s *session.Session) error {
	c := BudgetCheck{
		Usage: BudgetUsage{Cost: s.Cost, Tokens: s.Tokens.Sum()}, Grants: &Grants{}, Parent: s.ParentID,
	}
	// Only costs and tokens: turns and time are those of a prompt.
	if s.Budget != nil {
		c.Budget = session.Budget{USD: s.Budget.USD, Tokens: s.Budget.Tokens}
	}
	a.running.mu.Lock()
	defer a.running.mu.Unlock()
	owners, _, err := a.listBudgets(ctx, s.ID, c)
	if err != nil {
		return err
	}
	for _, o := range owners {
		o.budget.Turns, o.budget.Wall = 0, 0 // these are of prompts
		exceeded, err := a.findExceededOf(ctx, s.ID, c.Grants, o)
		if exceeded != nil {
			err = exceeded
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findExceededOf returns the limit of one budget that is used up, with its extensions; nil if none is.
func (a *Asks) findExceededOf(
	ctx context.Context, id session.ID, own *Grants, o budgetOwner,
) (*BudgetError, error) {
	if findExceeded(o.budget, o.usage, nil) == nil {
		return nil, nil
	}
	granted, err := a.readGrants(ctx, id, own, o.ancestor)
	if err != nil {
		return nil, err
	}
	exceeded := findExceeded(o.budget, o.usage, granted)
	if exceeded != nil {
		exceeded.Owner = o.ancestor
	}
	return exceeded, nil
}

// readGrants returns how often each limit was extended: in the session itself, and in the ancestor that has the budget.
func (a *Asks) readGrants(
	ctx context.Context, id session.ID, own *Grants, ancestor session.ID,
) (map[Limit]int64, error) {
	if err := own.read(ctx, a.journal.Store, id); err != nil || ancestor == "" {
		return own.count, err
	}
	var theirs Grants
	if err := theirs.read(ctx, a.journal.Store, ancestor); err != nil {
		return nil, err
	}
	sum := map[Limit]int64{}
	for _, counts := range []map[Limit]int64{own.count, theirs.count} {
		for limit, n := range counts {
			sum[limit] += n
		}
	}
	return sum, nil
}

func (a *Asks) askBudget(ctx context.Context, by Asker, exceeded *BudgetError) error {
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
