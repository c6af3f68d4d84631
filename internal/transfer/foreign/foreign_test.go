package foreign

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// The ids are valid, the same for the same source, and different for any other session, row or item.
func TestIDs(t *testing.T) {
	const created = 1_790_000_000_000
	ids := NewIDs(Claude, "one")
	seen := map[string]bool{}
	for _, id := range []string{
		string(ids.Session(created)), string(ids.Message("a", created)), string(ids.Message("b", created)),
		string(ids.Part("a", 0, created)), string(ids.Part("a", 1, created)), string(ids.Part("a1", 0, created)),
		string(NewIDs(Codex, "one").Session(created)), string(NewIDs(Claude, "two").Session(created)),
	} {
		if seen[id] {
			t.Errorf("%s comes twice", id)
		}
		seen[id] = true
		p := session.Prefix(id[:3])
		if err := session.CheckID("id", p, id); err != nil || len(id) != 30 {
			t.Errorf("%s: %v", id, err)
		}
	}
	if a := string(ids.Message("a", created)); Rename(a, "x") == a || Rename(a, "x") == Rename(a, "y") ||
		Rename(a, "x")[:16] != a[:16] || len(Rename(a, "x")) != len(a) {
		t.Errorf("%s becomes %s", a, Rename(a, "x"))
	}
	if ids.Message("a", created) != NewIDs(Claude, "one").Message("a", created) {
		t.Error("the same row has another id")
	}
	// Newer sessions come first in a listing by name, newer messages last.
	if ids.Session(created) < ids.Session(created+1) || ids.Message("a", created) > ids.Message("a", created+1) {
		t.Error("the ids are not in the order of time")
	}
	for _, n := range []int{0, 1, 9, 10, 61, 62, 4095, 4096, maxPart - 1} {
		if ids.Part("a", n, created) >= ids.Part("a", n+1, created) {
			t.Errorf("item %d does not sort before the next one", n)
		}
	}
}

// Each valid id can be renamed, to another valid one.
func TestRename(t *testing.T) {
	for _, id := range []string{
		"ses_a", "ses_" + strings.Repeat("a", 15), "ses_" + strings.Repeat("a", 26), "ses_" + strings.Repeat("a", 124),
	} {
		got := Rename(id, "x")
		if err := CheckID(session.PrefixSession, got); err != nil || got == id || got == Rename(id, "y") {
			t.Errorf("%s becomes %s: %v", id, got, err)
		}
	}
}

// An id of a damaged source is not kept.
func TestCheckID(t *testing.T) {
	for id, valid := range map[string]bool{
		"ses_dde938bbdffe3V65naPVd2u5ae": true, "ses_a.b-c": true, "ses": false, "msg_a": false, "": false,
		"ses_dde938bb>ffe3V65naPVd2u5ae": false, "ses_a b": false, "ses_a/b": false, "ses_ä": false, "ses_a\x00": false,
		"ses_" + strings.Repeat("a", 125): false,
	} {
		if err := CheckID(session.PrefixSession, id); (err == nil) != valid {
			t.Errorf("%q: %v", id, err)
		}
	}
}
