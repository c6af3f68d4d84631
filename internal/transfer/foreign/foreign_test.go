package foreign

import (
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
	if ids.Message("a", created) != NewIDs(Claude, "one").Message("a", created) {
		t.Error("the same row has another id")
	}
	// Newer sessions come first in a listing by name, newer messages last.
	if ids.Session(created) < ids.Session(created+1) || ids.Message("a", created) > ids.Message("a", created+1) {
		t.Error("the ids are not in the order of time")
	}
	for n := range 20 {
		if ids.Part("a", n, created) >= ids.Part("a", n+1, created) {
			t.Errorf("item %d does not sort before the next one", n)
		}
	}
}
