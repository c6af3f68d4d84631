package share_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sharetarget"
	"github.com/cairn-dev/cairn/internal/test/storetest"
	"github.com/cairn-dev/cairn/internal/transfer/share"
)

// countingViewer counts the reads of a store.
type countingViewer struct {
	store.Viewer
	views atomic.Int64
}

func (c *countingViewer) View(ctx context.Context, f func(store.Reader) error) error {
	c.views.Add(1)
	return c.Viewer.View(ctx, f)
}

// addShared adds n sessions that are shared and up to date.
func (w *world) addShared(n int) {
	for i := range n {
		id := session.ID(fmt.Sprintf("ses_%08d", i))
		w.add(id, &session.Created{Info: session.Session{ID: id, Time: session.SessionTime{Created: 1, Updated: 1}}})
		if _, err := w.outbox.Share(context.Background(), id, remote); err != nil {
			w.t.Fatal(err)
		}
	}
	w.settle(time.Minute)
}

// A commit costs a read of its own session, and none of the other shared sessions; neither does a start.
func TestCommitReadsNoOtherShares(t *testing.T) {
	play(t, func(w *world) {
		const shares = 50
		w.addShared(shares)
		w.stop()
		counting := &countingViewer{Viewer: w.store}
		w.viewer = counting
		w.start()
		w.settle(time.Minute)
		if n := counting.views.Load(); n >= shares {
			t.Errorf("a start read the store %d times, with %d shares", n, shares)
		}
		before := counting.views.Load()
		w.prompt("ses_a", "not shared")
		w.settle(time.Minute)
		if n := counting.views.Load() - before; n >= shares {
			t.Errorf("a commit read the store %d times, with %d shares", n, shares)
		}
		// One that is shared is sent.
		w.prompt("ses_00000007", "news")
		w.settle(time.Second)
		if got := w.texts("00000007"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

// An upload does not write the file with the secrets, and the next process knows what the server has.
func TestUploadLeavesSecretsAlone(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		before, err := os.ReadFile(w.file)
		if err != nil {
			t.Fatal(err)
		}
		w.prompt("ses_a", "second")
		w.settle(time.Second)
		if got := w.texts(s.RemoteID); len(got) != 2 {
			t.Fatalf("%q", got)
		}
		after, err := os.ReadFile(w.file)
		if diff := cmp.Diff(string(before), string(after)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// Without the file of the progress, or with a damaged one, all is uploaded again, and nothing is missed.
func TestProgressIsLost(t *testing.T) {
	for _, content := range []string{"", "{", `{"synced":{"x":1},"marked":["y"]}`} {
		play(t, func(w *world) {
			s := w.share(remote)
			w.settle(time.Second)
			w.stop()
			w.prompt("ses_a", "second")
			file := filepath.Join(filepath.Dir(w.file), "shares-progress.json")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if content != "" {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.start()
			w.settle(10 * time.Second)
			if got := w.texts(s.RemoteID); len(got) != 2 {
				t.Errorf("%q: %q", content, got)
			}
		})
	}
}

// What a process could not upload before it ended is uploaded by the next one, although no event follows.
func TestMarksAreDurable(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down)
		w.prompt("ses_a", "second")
		w.settle(10 * time.Second)
		w.stop()
		w.server.Recover()
		w.start()
		w.settle(time.Minute)
		if got := w.texts(s.RemoteID); len(got) != 2 {
			t.Errorf("%q %+v", got, w.list())
		}
	})
}

// The first share of a store begins to follow its events, and not those of an earlier time.
func TestFirstShareFollows(t *testing.T) {
	play(t, func(w *world) {
		w.settle(time.Minute)
		if _, err := os.Stat(filepath.Join(filepath.Dir(w.file), "shares.cursor")); err == nil {
			t.Error("the log is followed without a share")
		}
		s := w.share(share.Options{Target: remote.Target})
		w.settle(time.Second)
		w.prompt("ses_a", "second")
		w.settle(time.Second)
		if got := w.texts(s.RemoteID); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

// restore replaces the store by an earlier state of it, which has the session and the prompts.
func (w *world) restore(prompts ...string) {
	m := storetest.NewMemory()
	w.store, w.viewer = m, m
	w.log = eventlog.New(eventlog.Config{Store: m, IDs: &session.IDs{}})
	w.add("ses_a", &session.Created{Info: session.Session{ID: "ses_a", Title: "T"}})
	for _, text := range prompts {
		w.prompt("ses_a", text)
	}
}

// wantTexts checks that the server has the texts.
func (w *world) wantTexts(remote string, texts ...string) {
	w.t.Helper()
	got := w.texts(remote)
	for _, text := range texts {
		if !slices.Contains(got, text) {
			w.t.Errorf("the server lacks %q: %q", text, got)
		}
	}
}

// After the store was restored to an earlier state, the server gets what the session has since then, although its log is
// longer than what was uploaded before.
func TestRestoredStore(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.prompt("ses_a", "lost")
		w.settle(time.Second)
		w.stop()
		// The restored store has the first prompt only, and grows while no process uploads.
		w.restore("first", "a", "b", "c", "d", "e", "f")
		w.start()
		w.settle(10 * time.Second)
		w.wantTexts(s.RemoteID, "a", "b", "c", "d", "e", "f")
	})
}

// The next process continues at the position of the restored store, not at the higher one of the store before.
func TestRestoredStoreAfterRestart(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		for range 8 {
			w.prompt("ses_a", "lost")
		}
		w.settle(time.Second)
		w.share(share.Options{Expires: time.Hour, Extend: true}) // the registry has the position now
		w.settle(time.Second)
		w.stop()
		w.restore("first")
		w.start()
		w.settle(10 * time.Second)
		w.stop()
		for _, text := range strings.Fields("a b c d e f g h i j k l") {
			w.prompt("ses_a", text)
		}
		w.start()
		w.settle(10 * time.Second)
		w.wantTexts(s.RemoteID, strings.Fields("a b c d e f g h i j k l")...)
	})
}

// An upload that is under way when the restored store is found does not record how far it came.
func TestRestoredStoreDuringUpload(t *testing.T) {
	play(t, func(w *world) {
		s := w.share(remote)
		w.settle(time.Second)
		w.server.Fail(sharetarget.Down)
		w.prompt("ses_a", "lost")
		w.settle(10 * time.Second)
		w.stop()
		// The next process uploads what is marked, before its follower sees that the store is another one.
		w.server.Recover()
		w.restore("first", "a", "b", "c", "d", "e", "f")
		w.onList = sync.OnceFunc(func() { pause(time.Minute) })
		w.follower = 30 * time.Second
		w.start()
		w.settle(5 * time.Minute)
		w.wantTexts(s.RemoteID, "a", "b", "c", "d", "e", "f")
	})
}
