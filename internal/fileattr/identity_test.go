package fileattr

import "testing"

func TestIsSameIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"fe:0:1a2b:5f.1", "fe:0:1a2b:5f.1", true},
		{"fe:0:1a2b:5f.1", "fe:10:1a2b:5f.1", true}, // another number of the device
		{"1:1a2b:5f.1", "2:1a2b:5f.1", true},
		{"fe:0:1a2b:5f.1", "fe:0:1a2c:5f.1", false},
		{"fe:0:1a2b:5f.1", "fe:0:1a2b:5f.2", false},
		{"", "", false},
		{"", "fe:0:1:2", false},
	} {
		if got := IsSameIdentity(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}
