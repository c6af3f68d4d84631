package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
	// A reader holds the log meanwhile, and delays nothing.
	hold, held := make(chan struct{}), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		_ = s.View(context.Background(), func(store.Reader) error { close(held); <-hold; return nil })
	})
	<-held
	err := s.Update(t.Context(), store.Durable, func(tx store.Tx) error { return tx.DeleteSession("ses_2") })
	if err != nil {
		t.Fatal(err)
	}
	put("ses_3", "later")
	s.purge(t, true)
	close(hold)
	reading.Wait()
	s.purge(t, false)
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

// purge empties the log as an idle writer does, and checks whether something holds it.
func (s *Store) purge(t *testing.T, isHeld bool) {
	t.Helper()
	err := s.writer.runAlone(t.Context(), func(dbConn) error {
		if s.writer.purgeLog(); s.writer.purge != isHeld {
			t.Errorf("the log is to be emptied: %v", s.writer.purge)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The log of a process that was killed is emptied by the next one: it may have what was deleted.
func TestLogOfAnEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	fill(t, s, 1, 5)
	killed := t.TempDir()
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if next := open(t, killed); !next.writer.startedWithLog {
		t.Error("the log is not to be emptied")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if next := open(t, dir); next.writer.startedWithLog {
		t.Error("a log that was closed is to be emptied")
	}
}
