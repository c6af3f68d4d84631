package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A database gives its free pages back while it is written and read, also one of an earlier version, and is whole then.
func TestShrink(t *testing.T) {
	for _, c := range []struct {
		name string
		old  bool
	}{{"new", false}, {"of an earlier version", true}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			if c.old {
				err := s.writer.runAlone(t.Context(), func(c dbConn) error { return c.Exec("PRAGMA auto_vacuum = NONE; VACUUM") })
				if err != nil {
					t.Fatal(err)
				}
			}
			fill(t, s, 40, 200)
			full, err := s.MeasureSpace(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			remove(t, s, "ses_1", "ses_2", "ses_3", "ses_5", "ses_8", "ses_13", "ses_21", "ses_34")
			before, err := s.MeasureSpace(t.Context())
			if err != nil || before.Free < full.Bytes/10 {
				t.Fatalf("%+v of %+v, %v", before, full, err)
			}
			// Write meanwhile.
			var group sync.WaitGroup
			group.Go(func() { fill(t, s, 2, 50) })
			err = s.Shrink(t.Context(), false)
			if unasked, measureErr := s.MeasureSpace(t.Context()); errors.Join(err, measureErr) != nil ||
				c.old && unasked.Bytes < before.Bytes {
				t.Errorf("an earlier version was written anew: %+v, before %+v, %v, %v", unasked, before, err, measureErr)
			}
			if err := s.Shrink(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			group.Wait()
			after, err := s.MeasureSpace(t.Context())
			info, statErr := os.Stat(filepath.Join(dir, dbName))
			if err := errors.Join(err, statErr); err != nil {
				t.Fatal(err)
			}
			if after.Free > before.Free/4 || info.Size() > full.Bytes-before.Free*3/4 {
				t.Errorf("%+v, a file of %d; before %+v", after, info.Size(), before)
			}
			if n := len(eventsOf(t, s, "ses_7")); n != 200 {
				t.Errorf("%d events of a session that stays", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if n := len(eventsOf(t, open(t, dir), "ses_0")); n != 250 {
				t.Errorf("%d events of a session that was written meanwhile", n)
			}
		})
	}
}

func remove(t *testing.T, s *Store, ids ...session.ID) {
	t.Helper()
	for _, id := range ids {
		if err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error { return tx.DeleteSession(id) }); err != nil {
			t.Fatal(err)
		}
	}
}

// A database of an earlier version is not written anew without room for a second one.
func TestShrinkWithoutRoom(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.writer.runAlone(t.Context(), func(c dbConn) error { return c.Exec("PRAGMA auto_vacuum = NONE; VACUUM") })
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, 4, 20)
	before, err := s.MeasureSpace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	free := before.Bytes
	s.freeSpace = func(string) (int64, bool) { return free, true }
	err = s.Shrink(t.Context(), true)
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Code != session.CodeConflict {
		t.Errorf("error %v, want one about the room", err)
	}
	_, err = store.Query(t.Context(), s, func(r store.Reader) (int64, error) { return r.Head("") })
	if err != nil {
		t.Errorf("the store cannot be read: %v", err)
	}
	free = 3*before.Bytes + shrinkReserve
	if err := s.Shrink(t.Context(), true); err != nil {
		t.Errorf("with room: %v", err)
	}
	if n := len(eventsOf(t, s, "ses_0")); n != 20 {
		t.Errorf("%d events", n)
	}
}
