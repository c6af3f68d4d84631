package sqlite

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A seq has 32 bits in the key of a row. One that has more is refused; bounds may be any.
func TestSeqsBeyondAnyPlace(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 2, 1)
	for _, seq := range []int64{-1, 1 << 32, 1 << 40} {
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
			return tx.PutMessage(
				"ses_0", &session.User{Head: session.Head{ID: "msg_far", Type: session.TypeUser, Seq: seq}}, nil, 0,
			)
		})
		if err == nil {
			t.Errorf("a message at seq %d was stored", seq)
		}
	}
	for _, tt := range []struct {
		q    store.MessageQuery
		want int
	}{
		{store.MessageQuery{After: -1 << 60, Before: 1 << 60}, 1},
		{store.MessageQuery{After: 1 << 60}, 0},
		{store.MessageQuery{After: -1, Before: 1 << 40, Newest: true}, 1},
	} {
		err := s.View(t.Context(), func(r store.Reader) error {
			got, err := store.ReadMessages(r, "ses_0", tt.q)
			if len(got) != tt.want {
				t.Errorf("%+v: %d messages, want %d", tt.q, len(got), tt.want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// What a session cost outlives it and is still its own when the session begins anew; without a cost its number is free.
func TestNumberLivesAsLongAsTheSpend(t *testing.T) {
	s := open(t, t.TempDir())
	fill(t, s, 2, 1)
	numbers := func() (n int64) {
		c, err := s.writer.open()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n, err = queryInt(c, "SELECT count(*) FROM numbered"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
		if err := tx.AddSpend(store.Spend{SessionID: "ses_0", Seq: 1, Time: 1}); err != nil {
			return err
		}
		if err := tx.DeleteSession("ses_0"); err != nil {
			return err
		}
		return tx.DeleteSession("ses_1")
	})
	if err != nil || numbers() != 1 {
		t.Fatalf("%d numbers are kept: %v", numbers(), err)
	}
	fill(t, s, 2, 1)
	err = s.View(t.Context(), func(r store.Reader) error {
		for id, want := range map[session.ID]int{"ses_0": 1, "ses_1": 0} {
			spent, err := r.Spent(id, 0)
			if err != nil || len(spent) != want {
				t.Errorf("%s: spend %v, %v", id, spent, err)
			}
		}
		return nil
	})
	if err != nil || numbers() != 2 {
		t.Errorf("%d numbers: %v", numbers(), err)
	}
}
