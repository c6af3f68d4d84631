package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestRepair: fsck names a child session that an earlier version left behind, and with --repair it deletes it, but not
// while another process owns the store.
func TestRepair(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	o := optionsOf(home)
	c := open(t, o)
	parent := create(t, c, "parent")
	child, err := c.API.Create(t.Context(), api.CreateSession{ParentID: parent, Title: "child"})
	if err != nil {
		t.Fatal(err)
	}
	if code, said := typed(t, o, "fsck", "--repair"); code == 0 || !strings.Contains(said, "stop the process") {
		t.Errorf("beside an owner: exit %d: %s", code, said)
	}
	closeIt(t, c)
	s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: home + "/data"})
	if err != nil {
		t.Fatal(err)
	}
	log := eventlog.New(eventlog.Config{Store: store.TrackDamage(s), IDs: &session.IDs{}})
	err = log.AppendDeleted(t.Context(), parent, session.Session{ID: parent}, func(tx store.Tx) error {
		return tx.DeleteSession(parent)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if code, said := typed(t, o, "fsck"); code != 1 || !strings.Contains(said, "fsck --repair") {
		t.Errorf("exit %d: %s", code, said)
	}
	if code, said := typed(t, o, "fsck", "--repair"); code != 0 || !strings.Contains(said, string(child.ID)) {
		t.Errorf("repair: exit %d: %s", code, said)
	}
	if code, said := typed(t, o, "fsck"); code != 0 {
		t.Errorf("after the repair: exit %d: %s", code, said)
	}
}
