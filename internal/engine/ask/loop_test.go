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
