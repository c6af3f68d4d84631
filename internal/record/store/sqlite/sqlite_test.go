package sqlite

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestExam(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		dir := t.TempDir()
		s := open(t, dir)
		return storetest.Subject{Store: s, Reopen: func(t *testing.T) store.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dir)
		}}
	})
}
