package ask

import (
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestFindExceeded(t *testing.T) {
	budget := session.Budget{USD: session.Dollar, Tokens: 100, Wall: 1000, Turns: 3}
	for name, c := range map[string]struct {
		budget  session.Budget
		usage   Usage
		granted map[Limit]int64
		want    string
	}{
		"below every limit": {budget, Usage{Turns: 2, Cost: session.Dollar - 1, Tokens: 99, Wall: 999 * time.Millisecond}, nil, ""},
		"turns":             {budget, Usage{Turns: 3}, nil, "the budget is used up: 3 of 3 turns"},
		"cost":              {budget, Usage{Cost: session.Dollar}, nil, "the budget is used up: 1 of 1 usd"},
		"tokens":            {budget, Usage{Tokens: 120}, nil, "the budget is used up: 120 of 100 tokens"},
		"wall-clock time":   {budget, Usage{Wall: time.Second}, nil, "the budget is used up: 1000ms of 1000ms wall"},
		"turns come first":  {budget, Usage{Turns: 3, Tokens: 100}, nil, "the budget is used up: 3 of 3 turns"},
		"granted once":      {budget, Usage{Tokens: 150}, map[Limit]int64{LimitTokens: 1}, ""},
		"a grant used up":   {budget, Usage{Tokens: 200}, map[Limit]int64{LimitTokens: 1}, "the budget is used up: 200 of 200 tokens"},
		"another's grant":   {budget, Usage{Tokens: 100}, map[Limit]int64{LimitTurns: 1}, "the budget is used up: 100 of 100 tokens"},
		"no limit":          {session.Budget{}, Usage{Turns: 1 << 40, Tokens: 1 << 40}, map[Limit]int64{LimitTurns: 1}, ""},
	} {
		got := ""
		if e := findExceeded(c.budget, c.usage, c.granted); e != nil {
			got = e.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
