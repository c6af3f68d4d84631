package ask

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A model that polls is not in a loop: the calls of earlier turns count only with equal results. Calls of the same turn
// have none yet, and those that were refused as repeats have no result of their own.
func TestCountRepeats(t *testing.T) {
	call := func(name, result string, inTurn bool) EarlierCall {
		return EarlierCall{name, jsontext.Value(`{"a": 1}`), inTurn, result}
	}
	for name, c := range map[string]struct {
		earlier   []EarlierCall
		n, inTurn int
	}{
		"none":             {nil, 0, 0},
		"equal results":    {[]EarlierCall{call("sh", "x", false), call("sh", "x", false)}, 2, 0},
		"polling":          {[]EarlierCall{call("sh", "2", false), call("sh", "1", false)}, 1, 0},
		"another tool":     {[]EarlierCall{call("sh", "x", false), call("ls", "x", false), call("sh", "x", false)}, 1, 0},
		"one turn":         {[]EarlierCall{call("sh", "", true), call("sh", "", true)}, 2, 2},
		"both":             {[]EarlierCall{call("sh", "", true), call("sh", "x", false), call("sh", "y", false)}, 2, 1},
		"refused meantime": {[]EarlierCall{call("sh", "", false), call("sh", "x", false), call("sh", "x", false)}, 3, 0},
	} {
		n, inTurn := CountRepeats("sh", jsontext.Value(`{"a":1}`), slices.Values(c.earlier))
		if n != c.n || inTurn != c.inTurn {
			t.Errorf("%s: %d, %d in the turn; want %d, %d", name, n, inTurn, c.n, c.inTurn)
		}
	}
}

// Calls that alternate are a loop as well, and a description does not make a call another one.
func TestCountCycles(t *testing.T) {
	call := func(input, result string) EarlierCall { return EarlierCall{"sh", jsontext.Value(input), false, result} }
	a, b := call(`{"a":1,"description":"x"}`, "A"), call(`{"b":1}`, "B")
	other, polled := call(`{"c":1}`, "C"), call(`{"b":1}`, "B2")
	for name, c := range map[string]struct {
		earlier []EarlierCall
		n       int
	}{
		"descriptions":             {[]EarlierCall{a, call(`{"a":1}`, "A")}, 2},
		"two calls":                {[]EarlierCall{b, a, b, a}, 2},
		"three calls":              {[]EarlierCall{b, other, a, b, other, a}, 2},
		"begun once":               {[]EarlierCall{b, a, other, a}, 1},
		"another result of one":    {[]EarlierCall{b, a, polled, a}, 1},
		"different calls":          {[]EarlierCall{b, other, b, other}, 0},
		"edits between the checks": {[]EarlierCall{call(`{"e":2}`, ""), a, call(`{"e":1}`, ""), a}, 1},
	} {
		n, _ := CountRepeats("sh", jsontext.Value(`{"a":1,"description":"y"}`), slices.Values(c.earlier))
		if n != c.n {
			t.Errorf("%s: %d, want %d", name, n, c.n)
		}
	}
}
