package store_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

func TestFindRoot(t *testing.T) {
	m := storetest.NewMemory()
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		for id, parent := range map[session.ID]session.ID{"a": "", "b": "a", "c": "b", "orphan": "gone", "x": "y", "y": "x"} {
			if err := tx.PutSession(&session.Session{ID: id, ParentID: parent}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[session.ID]session.ID{"a": "a", "c": "a", "orphan": "orphan", "none": "", "x": "y"} {
		got, err := store.Query(t.Context(), m, func(r store.Reader) (session.ID, error) { return store.FindRoot(r, id) })
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", id, got, err, want)
		}
	}
}
