package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Nothing is said to be written once the files are not where they were; what is there can be read on.
func TestFilesThatGoAway(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(dir string) error
	}{
		{"removed", func(dir string) error {
			path := filepath.Join(dir, dbName)
			return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
		}},
		{"replaced", func(dir string) error {
			path := filepath.Join(dir, dbName)
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path+".new", b, 0o600), os.Rename(path+".new", path))
		}},
		{"its log removed", func(dir string) error { return os.Remove(filepath.Join(dir, dbName+"-wal")) }},
		{"its folder removed", os.RemoveAll},
		{"its folder moved", func(dir string) error { return os.Rename(dir, dir+".moved") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s := open(t, dir)
			fill(t, s, 1, 2)
			if err := s.WriteError(); err != nil {
				t.Fatal(err)
			}
			eventsOf(t, s, "ses_0") // opens the connection that can go on
			if err := tt.harm(dir); err != nil {
				t.Fatal(err)
			}
			for _, d := range []store.Durability{store.Durable, store.Relaxed} {
				err := s.Update(t.Context(), d, func(tx store.Tx) error {
					return tx.PutSession(&session.Session{ID: "ses_late"})
				})
				if !errors.Is(err, store.ErrGone) || !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("update: %v", err)
				}
			}
			if err := s.WriteError(); !errors.Is(err, store.ErrGone) {
				t.Errorf("condition: %v", err)
			}
			if n := len(eventsOf(t, s, "ses_0")); n != 2 {
				t.Errorf("%d events can be read", n)
			}
			err := s.View(t.Context(), func(r store.Reader) error {
				if _, ok, err := r.Session("ses_late"); ok || err != nil {
					t.Errorf("what was refused is there: %v", err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The file goes away while a transaction runs: who waits for it learns that it may be lost.
func TestFileGoesAwayInTransaction(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		return errors.Join(tx.PutSession(&session.Session{ID: "ses_1"}), os.Remove(filepath.Join(dir, dbName)))
	})
	if !errors.Is(err, store.ErrGone) || !errors.Is(err, store.ErrUncertain) {
		t.Errorf("update: %v", err)
	}
}

// A connection that is opened anew after the last one was closed has a log of its own.
func TestLogIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	h, err := findHome(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := h.openWriter()
	if err != nil {
		t.Fatal(err)
	}
	at, err := newFileIdentity(h.path)
	if err != nil {
		t.Fatal(err)
	}
	w := newWriter(conn, h.openWriter, at)
	if err := w.ensureConn(); err != nil {
		t.Fatal(err)
	}
	w.drop()
	if err := w.identity.check(); !errors.Is(err, store.ErrGone) {
		t.Fatalf("without the last connection there is a log: %v", err)
	}
	if err := w.ensureConn(); err != nil {
		t.Error(err)
	}
	w.drop()
}
