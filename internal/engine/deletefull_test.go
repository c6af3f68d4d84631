package engine

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A deletion on a full disk is tried again as long as room is made for it.
func TestDeleteOnFullDisk(t *testing.T) {
	for _, c := range []struct{ parts, enough int }{{0, 1}, {1, 1}, {2, 2}, {1, 2}} {
		w := newWorld(t, script.Script{})
		if _, err := w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{ID: "ses_a"}); err != nil {
			t.Fatal(err)
		}
		freed := 0
		w.makeRoom = func() bool {
			if freed == c.parts {
				return false
			}
			freed++
			w.full.Store(freed < c.enough)
			return true
		}
		w.full.Store(true)
		err := w.engine.Commands.DeleteSession(t.Context(), "ses_a")
		if want := c.parts >= c.enough; want != (err == nil) || !want && !errors.Is(err, store.ErrFull) {
			t.Errorf("%+v: error %v", c, err)
		}
		w.full.Store(false)
		w.close(t)
	}
}
