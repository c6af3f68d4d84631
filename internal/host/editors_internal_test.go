package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// findRootOf returns the root of the tests' subagents.
func findRootOf(_ context.Context, id session.ID) session.ID {
	if id == "ses_below" {
		return "ses_1"
	}
	return id
}

// A read asks the editor that waits for one, and no longer than its bound; without an editor it asks nobody.
func TestReadUnsaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditors(findRootOf)
		if _, ok := e.ReadUnsaved(t.Context(), "ses_1", "/a"); ok {
			t.Error("without an editor there is a text")
		}
		// The editor has one file, does not know another one, and does not answer for a third one.
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			for {
				read, err := e.Next(ctx, "ses_1", "one")
				if err != nil {
					ended <- err
					return
				}
				if read.Path == "/a" {
					err = e.Answer("ses_1", read.ID, api.EditorText{Text: "new", Found: true})
				} else if read.Path == "/b" {
					err = e.Answer("ses_1", read.ID, api.EditorText{})
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait()
		for path, want := range map[string]string{"/a": "new", "/b": "", "/c": ""} {
			if text, ok := e.ReadUnsaved(t.Context(), "ses_1", path); text != want || ok != (want != "") {
				t.Errorf("%s: %q, %v", path, text, ok)
			}
			synctest.Wait() // until the editor waits again
		}
		if _, ok := e.ReadUnsaved(t.Context(), "ses_2", "/a"); ok {
			t.Error("another session has the text")
		}
		if text, _ := e.ReadUnsaved(t.Context(), "ses_below", "/a"); text != "new" {
			t.Errorf("a subagent reads %q", text)
		}
		// An answer that nobody waits for is refused, and nothing is kept of the session.
		if err := e.Answer("ses_1", "7", api.EditorText{}); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("a late answer: %v", err)
		}
		cancel()
		<-ended
		time.Sleep(editorGrace)
		synctest.Wait()
		if len(e.sessions) != 0 {
			t.Errorf("%d sessions are left", len(e.sessions))
		}
	})
}

// A read between two waits of an editor is for the next one; after editorGrace without a wait there is no editor.
func TestReadUnsavedBetweenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEditors(findRootOf)
		texts := make(chan string)
		read := func(path string) {
			text, _ := e.ReadUnsaved(t.Context(), "ses_1", path)
			texts <- text
		}
		answer := func() {
			got, err := e.Next(t.Context(), "ses_1", "one")
			if err == nil {
				err = e.Answer("ses_1", got.ID, api.EditorText{Text: "text of " + got.Path, Found: true})
			}
			if err != nil {
				t.Error(err)
			}
		}
		go answer()
		synctest.Wait()
		go read("/a")
		if got := <-texts; got != "text of /a" {
			t.Errorf("the first: %q", got)
		}
		synctest.Wait() // the editor does not wait now
		go read("/b")
		synctest.Wait()
		go answer()
		if got := <-texts; got != "text of /b" {
			t.Errorf("between two waits: %q", got)
		}
		time.Sleep(editorGrace)
		synctest.Wait()
		start := time.Now()
		go read("/c")
		if got := <-texts; got != "" || time.Since(start) > 0 || len(e.sessions) != 0 {
			t.Errorf("after the editor: %q in %v, %d sessions", got, time.Since(start), len(e.sessions))
		}
	})
}

// With two editors of a session, the text that is not the saved one wins, whoever answers first; without a change it is the
// saved one, and an editor that does not answer costs no change of the other one.
func TestReadUnsavedOfTwoEditors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("saved"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved, changed, missing := api.EditorText{Text: "saved", Found: true}, api.EditorText{Text: "new", Found: true}, api.EditorText{}
	for name, test := range map[string]struct {
		answers []api.EditorText // in this order; one that is left out does not come
		want    string
	}{
		"changed in the first":  {[]api.EditorText{changed, saved}, "new"},
		"changed in the second": {[]api.EditorText{saved, changed}, "new"},
		"missing in the first":  {[]api.EditorText{missing, changed}, "new"},
		"one is silent":         {[]api.EditorText{changed}, "new"},
		"saved in both":         {[]api.EditorText{saved, saved}, "saved"},
		"missing in both":       {[]api.EditorText{missing, missing}, ""},
		"both are silent":       {nil, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEditors(findRootOf)
			var reads []api.EditorRead
			var polls sync.WaitGroup
			for _, editor := range []string{"one", "two"} {
				polls.Go(func() {
					read, err := e.Next(t.Context(), "ses_1", editor)
					if err != nil {
						t.Error(err)
					}
					e.mu.Lock()
					defer e.mu.Unlock()
					reads = append(reads, read)
				})
			}
			synctest.Wait()
			go func() {
				polls.Wait() // both are asked
				for _, a := range test.answers {
					_ = e.Answer("ses_1", reads[0].ID, a) // the read may have ended with the first
					synctest.Wait()
				}
			}()
			text, ok := e.ReadUnsaved(t.Context(), "ses_1", path)
			if text != test.want || ok != (test.want != "") || len(reads) != 2 || reads[0] != reads[1] {
				t.Errorf("%s: %q, %v, asked for %v", name, text, ok, reads)
			}
			time.Sleep(editorGrace)
			synctest.Wait()
			if len(e.sessions) != 0 || len(e.waiting) != 0 {
				t.Errorf("%s: %d sessions and %d reads are left", name, len(e.sessions), len(e.waiting))
			}
		})
	}
}
