package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// samePages returns the same full page again and again, as one does whose last row has a damaged time.
type samePages struct{ store.Reader }

func (s samePages) View(_ context.Context, f func(store.Reader) error) error { return f(s) }

func (samePages) RawSessions(q store.SessionQuery) ([]store.RawSession, error) {
	rows := make([]store.RawSession, q.Limit)
	rows[q.Limit-1] = store.RawSession{ID: "ses_a", Created: 5}
	return rows, nil
}

// A page that leads back ends the visit with the damage.
func TestVisitSessionsDamaged(t *testing.T) {
	visited := 0
	err := store.VisitSessions(t.Context(), samePages{}, store.SessionQuery{}, func(store.RawSession) error {
		if visited++; visited > 10_000 {
			return errors.New("the visit does not end")
		}
		return nil
	})
	if !errors.Is(err, store.ErrDamaged) {
		t.Errorf("error %v, want the damage", err)
	}
}
