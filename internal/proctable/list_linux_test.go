package proctable

import "testing"

func TestParseStat(t *testing.T) {
	for in, want := range map[string]Process{
		"12 (sleep) S 1 12 12 0 -1 4194304": {PID: 12, Parent: 1, Group: 12, Session: 12},
		"7 (a) Z (b) c) Z 3 4 5 0":          {PID: 7, Parent: 3, Group: 4, Session: 5, Dead: true},
	} {
		if got, ok := parseStat(in); !ok || got != want {
			t.Errorf("%q: %+v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "1", "1 (x", "1 (x) S", "1 (x) S a b c", "x (y) S 1 2 3"} {
		if got, ok := parseStat(in); ok {
			t.Errorf("%q: %+v", in, got)
		}
	}
}
