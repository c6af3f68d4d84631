package sqlite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// BenchmarkVisibleAfterCompaction reads what the model of a session is shown: of one with 10,000 messages and a
// compaction that keeps the newest 20, and of one that has only those.
func BenchmarkVisibleAfterCompaction(b *testing.B) {
	const kept = 20
	for _, stored := range []int{10_000, kept} {
		b.Run(fmt.Sprint(stored), func(b *testing.B) {
			s := openBench(b)
			putMessages(b, s, stored, kept)
			b.ResetTimer()
			for range b.N {
				err := s.View(b.Context(), func(r store.Reader) error {
					ms, err := store.ReadVisible(r, "ses_a")
					if err == nil && len(ms) != kept+1 {
						b.Fatalf("%d messages are shown", len(ms))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func putMessages(b *testing.B, s *Store, stored, kept int) {
	b.Helper()
	err := s.Update(context.Background(), store.Durable, func(tx store.Tx) error {
		if err := tx.PutSession(&session.Session{ID: "ses_a"}); err != nil {
			return err
		}
		for n := range stored {
			u := &session.User{Text: strings.Repeat("word ", 100)}
			u.ID, u.Type, u.Seq = session.MessageID(fmt.Sprintf("msg_%06d", n)), session.TypeUser, int64(n+1)
			if err := tx.PutMessage("ses_a", u, nil, u.Seq); err != nil {
				return err
			}
		}
		c := &session.Compaction{Summary: "s"}
		c.ID, c.Type, c.Seq = "msg_c", session.TypeCompaction, int64(stored+1)
		c.Kept.MessageID = session.MessageID(fmt.Sprintf("msg_%06d", stored-kept))
		return tx.PutMessage("ses_a", c, nil, c.Seq)
	})
	if err != nil {
		b.Fatal("store the messages:", err)
	}
}
