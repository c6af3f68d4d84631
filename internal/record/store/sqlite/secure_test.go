package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Nothing of a deleted session is left in the files, also not of earlier states of its rows, while others are written.
func TestDeletedTextIsGone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 5, 40)
	const secret = "xylophonequartz"
	put := func(id session.ID, text string) {
		t.Helper()
		err := s.Update(t.Context(), store.Relaxed, func(tx store.Tx) error {
			m := &session.User{Head: session.Head{ID: session.MessageID("msg_" + id), Type: session.TypeUser}, Text: text}
			return tx.PutMessage(id, m, nil, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 60 { // a message that grows, between others
		put("ses_2", strings.Repeat(secret+" ", 1+n*n))
		put("ses_3", fmt.Sprint(strings.Repeat("other ", n*10)))
	}
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error { return tx.DeleteSession("ses_2") })
	if err != nil {
		t.Fatal(err)
	}
	put("ses_3", "later") // the writer has emptied the log before this
	files, err := filepath.Glob(filepath.Join(dir, dbName+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), secret[3:]); n > 0 {
			t.Errorf("%s has the text %d times", filepath.Base(name), n)
		}
	}
}
