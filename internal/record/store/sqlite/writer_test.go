package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func appendOne(id session.ID) func(store.Tx) error {
	return func(tx store.Tx) error {
		head, err := tx.Head(id)
		if err == nil {
			_, err = tx.InsertEvent(testEvent(id, head+1))
		}
		return err
	}
}

func TestFaultPoints(t *testing.T) {
	for _, tt := range []struct {
		spec                   string
		unavailable, uncertain bool
		stored                 int
	}{
		{"", false, false, 1},
		{"store.pre_commit=error", true, false, 0},
		{"store.post_commit=error", true, true, 1},
		{"store.pre_answer=error", true, true, 1},
	} {
		s := open(t, t.TempDir())
		restore, err := fault.Set(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Update(t.Context(), store.Durable, appendOne("ses_a"))
		hits := fault.HitCounts()
		restore()
		if errors.Is(err, store.ErrUnavailable) != tt.unavailable ||
			errors.Is(err, store.ErrUncertain) != tt.uncertain {
			t.Errorf("%s: %v", tt.spec, err)
		}
		if n := len(eventsOf(t, s, "ses_a")); n != tt.stored {
			t.Errorf("%s: %d events", tt.spec, n)
		}
		if err := s.Update(t.Context(), store.Durable, appendOne("ses_b")); err != nil {
			t.Errorf("%s: afterwards: %v", tt.spec, err)
		}
		for _, p := range []fault.Name{fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer} {
			if tt.spec == "" && hits[p] == 0 {
				t.Errorf("point %s was not passed", p)
			}
		}
	}
}

// A failed commit fails every transaction of the batch and no other.
func TestFailedCommitFailsItsBatch(t *testing.T) {
	s := open(t, t.TempDir())
	begun, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		_ = s.Update(t.Context(), store.Relaxed, func(store.Tx) error {
			close(begun)
			<-release
			return nil
		})
	})
	<-begun
	restore, err := fault.Set("store.pre_commit#1=error")
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	for range 20 {
		all.Go(func() {
			if err := s.Update(t.Context(), store.Relaxed, appendOne("ses_a")); err != nil &&
				!errors.Is(err, store.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	close(release)
	all.Wait()
	before := len(eventsOf(t, s, "ses_a"))
	if err := s.Update(t.Context(), store.Relaxed, appendOne("ses_a")); err != nil {
		t.Error(err)
	}
	if n := len(eventsOf(t, s, "ses_a")); n != before+1 {
		t.Errorf("%d events, were %d", n, before)
	}
}

// The log does not grow with what is written, and ends with the store.
func TestLogStaysShort(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 3000 {
		d := store.Relaxed
		if i%500 == 0 {
			d = store.Durable
		}
		err := s.Update(t.Context(), d, func(tx store.Tx) error {
			for range 3 {
				if err := appendOne("ses_a")(tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const most = 8 << 20
	if info, err := os.Stat(filepath.Join(dir, dbName+"-wal")); err != nil || info.Size() > most {
		t.Errorf("the log: %v bytes, %v", info.Size(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, dbName+"-wal")); err == nil {
		t.Error("the log is there after closing")
	}
}
