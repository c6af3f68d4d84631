package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// A rebuild that was interrupted goes on behind the session that it saved last, and writes no earlier one again.
func TestRebuildGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for n := range 5 {
			of := session.ID(fmt.Sprintf("ses_%d", n))
			created := info(of, int64(10+n/2)) // some were created at the same time
			created.Info.Location.Directory = fmt.Sprintf("/d%d", n)
			w.add(of, created, prompted(session.MessageID(fmt.Sprintf("msg_%d", n)), "Hi"))
		}
		// Time passes with each session that is written.
		w.mirror.Store = slow{w.memory}
		cut, progress := errors.New("cut"), ""
		err := w.mirror.Rebuild(t.Context(), "", func(p string) error {
			if progress = p; strings.HasSuffix(p, "ses_2") {
				return cut
			}
			return nil
		})
		if !errors.Is(err, cut) {
			t.Fatalf("error %v", err)
		}
		// What is changed in a session that was written stays, which shows that it is not written again.
		edited := filepath.Join(w.mirror.Dir, "storage", "message", "ses_1", "msg_1.json")
		if err := os.WriteFile(edited, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.mirror.Store = w.memory
		if err := w.mirror.Rebuild(t.Context(), progress, saveNothing); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(edited); err != nil || string(text) != "{}" {
			t.Errorf("a session that was written is written again: %s, %v", text, err)
		}
		if err := os.Remove(edited); err != nil {
			t.Fatal(err)
		}
		got := readTree(t, w.mirror.Dir)
		w.rebuild()
		want := readTree(t, w.mirror.Dir)
		delete(want, "storage/message/ses_1/msg_1.json")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := w.mirror.Rebuild(t.Context(), "nonsense", saveNothing); err == nil {
			t.Error("an invalid progress is accepted")
		}
	})
}

// slow is a store whose reads take time.
type slow struct{ store.Viewer }

func (s slow) View(ctx context.Context, f func(store.Reader) error) error {
	time.Sleep(10 * time.Second)
	return s.Viewer.View(ctx, f)
}

// A session with thousands of messages behind one prompt, and with thousands without an answer, is written whole.
func TestLongTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(id, info(id, 5), prompted("msg_0", "Hi"))
	var data []session.EventData
	for n := range 1500 {
		m := &session.Assistant{Agent: "build", Content: []session.Content{}}
		m.ID, m.Type, m.Finish = session.MessageID(fmt.Sprintf("msg_a%04d", n)), session.TypeAssistant, "stop"
		m.Time = session.MessageTime{Created: 10, Completed: 11}
		raw, err := session.EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, &session.MessageImported{Message: raw})
	}
	for n := range 1500 {
		data = append(data, prompted(session.MessageID(fmt.Sprintf("msg_p%04d", n)), "Ho"))
	}
	w.add(id, data...)
	w.rebuild()
	stored, err := store.ReadSession(t.Context(), w.memory, id)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := store.Query(t.Context(), w.memory, func(r store.Reader) ([]session.Message, error) {
		return store.ReadMessages(r, id, store.MessageQuery{After: -1})
	})
	if err != nil || len(ms) < 3000 {
		t.Fatalf("%d messages, %v", len(ms), err)
	}
	for _, m := range opencode.Render(stored, ms, false) {
		id, _ := opencode.IDAndTime(m.Info)
		compareFile(t, w.mirror.Dir, m.Info, "message", "ses_a", string(id))
	}
}
