package store

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// The visible messages of a session with a system message at each even seq and a user message at each odd one
// (HS-1).
func TestShown(t *testing.T) {
	for _, c := range []struct {
		name        string
		shown       VisibleRange
		user        int64 // the first user message that is shown
		system      int64 // the first system message
		unshownUser int64 // the newest user message that is not
	}{
		{"everything", EverythingVisible, 1, 0, -1},
		{"a baseline", VisibleRange{Compaction: -1, Keep: -1, Baseline: 5}, 1, 6, -1},
		{"a compaction and its baseline", VisibleRange{Compaction: 20, Keep: 20, Baseline: 20}, 21, 22, 19},
		{"a compaction whose baseline is blocked", VisibleRange{Compaction: 20, Keep: 20, Baseline: 5}, 21, 6, 19},
		{"a compaction that keeps a tail", VisibleRange{Compaction: 20, Keep: 15, Baseline: 20}, 15, 22, 13},
		{"a compaction without epoch", VisibleRange{Compaction: 20, Keep: 20, Baseline: -1}, 21, 20, 19},
	} {
		t.Run(c.name, func(t *testing.T) {
			user, system, unshown := int64(-1), int64(-1), int64(-1)
			for seq := int64(40); seq >= 0; seq-- {
				kind := session.TypeSystem
				if seq%2 == 1 {
					kind = session.TypeUser
				}
				has := c.shown.Contains(kind, seq)
				switch {
				case has && kind == session.TypeUser:
					user = seq
				case has:
					system = seq
				case kind == session.TypeUser:
					unshown = max(unshown, seq)
				}
				if has && seq <= c.shown.After() {
					t.Errorf("%d is shown and not asked for", seq)
				}
			}
			if user != c.user || system != c.system || unshown != c.unshownUser {
				t.Errorf("from user %d, system %d; not user %d", user, system, unshown)
			}
		})
	}
}
