package sdk

import (
	"math"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// What is left of a limit stays a limit, however little it is; what is no amount is refused.
func TestBudget(t *testing.T) {
	for b, want := range map[Budget]session.Budget{
		{USD: 0.25, Time: time.Second}:     {USD: session.Dollar / 4, Wall: 1000},
		{USD: 1e-13}:                       {USD: 1},
		{Time: time.Nanosecond, Tokens: 7}: {Wall: 1, Tokens: 7},
	} {
		if got, err := b.encode(); err != nil || *got != want {
			t.Errorf("%+v: %+v, %v", b, got, err)
		}
	}
	for _, usd := range []float64{math.NaN(), math.Inf(1), 1e12} {
		if got, err := (Budget{USD: usd}).encode(); err == nil {
			t.Errorf("%v: %+v", usd, got)
		}
	}
	for _, b := range []Budget{{Time: -time.Nanosecond}, {USD: -1e-13}} {
		if got, err := b.encode(); err == nil {
			t.Errorf("%+v: %+v", b, got)
		}
	}
}
