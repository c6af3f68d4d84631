package searchindex

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/storetest"
)

// Words that are in most documents select, and do not rank.
func TestCommonWords(t *testing.T) {
	m := storetest.NewMemory()
	err := m.Update(t.Context(), store.Durable, func(tx store.Tx) error {
		if err := tx.PutSession(&session.Session{ID: "ses_a", Title: "A"}); err != nil {
			return err
		}
		for i := range int64(30) {
			text := "common every"
			if i%10 == 3 {
				text += " rare"
			}
			if i == 13 {
				text += " rare rare"
			}
			u := &session.User{Head: session.Head{ID: session.MessageID(fmt.Sprint("msg_", i)), Type: session.TypeUser, Seq: i}, Text: text}
			if err := tx.PutMessage("ses_a", u, nil, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, common := range []int64{0, 10} {
		x := &Index{Store: m, StoreID: "s", Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), common: common}
		if err := x.Rebuild(t.Context(), "", func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]string{
			"rare": "13 3 23", "common rare": "13 3 23", "every common rare": "13 3 23", "common -rare": "27 more", "common every": "30 more",
		} {
			page, err := x.Search(t.Context(), Query{Text: query, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, h := range page.Hits {
				ids = append(ids, strings.TrimPrefix(string(h.MessageID), "msg_"))
			}
			got := strings.Join(ids, " ")
			if len(ids) > 3 {
				got = fmt.Sprint(len(ids), " more")
			}
			if got != want {
				t.Errorf("common %d: %q: %s, want %s", common, query, got, want)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
