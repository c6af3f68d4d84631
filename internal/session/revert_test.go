package session_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestCountTaken: a revert takes back the messages after its message, and that one if all or a part of it goes.
func TestCountTaken(t *testing.T) {
	newest := []session.Message{
		&session.User{Head: session.Head{ID: "msg_3"}}, &session.Assistant{Head: session.Head{ID: "msg_2"}},
		&session.User{Head: session.Head{ID: "msg_1"}},
	}
	for name, c := range map[string]struct {
		revert session.Revert
		want   int
		found  bool
	}{
		"after":   {session.Revert{MessageID: "msg_2"}, 1, true},
		"whole":   {session.Revert{MessageID: "msg_2", Exclusive: true}, 2, true},
		"part":    {session.Revert{MessageID: "msg_2", PartID: "prt_1"}, 2, true},
		"newest":  {session.Revert{MessageID: "msg_3"}, 0, true},
		"earlier": {session.Revert{MessageID: "msg_0"}, 3, false},
	} {
		if n, found := c.revert.CountTaken(newest); n != c.want || found != c.found {
			t.Errorf("%s: %d, %v", name, n, found)
		}
	}
}
