package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestFindExceeded(t *testing.T) {
	budget := session.Budget{USD: session.Dollar, Tokens: 100, Wall: 1000, Turns: 3}
	type grants = map[Limit]int64
	for name, c := range map[string]struct {
		budget  session.Budget
		usage   BudgetUsage
		granted grants
		want    string // "" if no limit is exceeded
	}{
		"turns":            {budget, BudgetUsage{Turns: 3}, nil, "3 of 3 turns"},
		"cost":             {budget, BudgetUsage{Cost: session.Dollar}, nil, "1 of 1 usd"},
		"tokens":           {budget, BudgetUsage{Tokens: 120}, nil, "120 of 100 tokens"},
		"wall-clock time":  {budget, BudgetUsage{Wall: time.Second}, nil, "1000ms of 1000ms wall"},
		"turns come first": {budget, BudgetUsage{Turns: 3, Tokens: 100}, nil, "3 of 3 turns"},
		"granted once":     {budget, BudgetUsage{Tokens: 150}, grants{LimitTokens: 1}, ""},
		"a grant used up":  {budget, BudgetUsage{Tokens: 200}, grants{LimitTokens: 1}, "200 of 200 tokens"},
		"another's grant":  {budget, BudgetUsage{Tokens: 100}, grants{LimitTurns: 1}, "100 of 100 tokens"},
		"no limit":         {session.Budget{}, BudgetUsage{Turns: 1 << 40, Tokens: 1 << 40}, grants{LimitTurns: 1}, ""},
		"below every limit": {
			budget, BudgetUsage{Turns: 2, Cost: session.Dollar - 1, Tokens: 99, Wall: 999 * time.Millisecond}, nil, "",
		},
	} {
		got := ""
		if e := findExceeded(c.budget, c.usage, c.granted); e != nil {
			got = strings.TrimPrefix(e.Error(), "the budget is used up: ")
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
