package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// A read asks the editor that waits for one, and no longer than its bound; without an editor it asks nobody.
func TestReadUnsaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e editors
		if _, ok := e.ReadUnsaved(t.Context(), "ses_1", "/a"); ok {
			t.Error("without an editor there is a text")
		}
		// The editor has one file, does not know another one, and does not answer for a third one.
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			for {
				read, err := e.Next(ctx, "ses_1")
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
		// An answer that nobody waits for is refused, and nothing is kept of the session.
		if err := e.Answer("ses_1", "7", api.EditorText{}); !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			t.Errorf("a late answer: %v", err)
		}
		cancel()
		<-ended
		time.Sleep(editorGrace)
		if len(e.sessions) != 0 {
			t.Errorf("%d sessions are left", len(e.sessions))
		}
	})
}

// A read between two waits of an editor is for the next one; after editorGrace without a wait there is no editor.
func TestReadUnsavedBetweenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e editors
		texts := make(chan string)
		read := func(path string) {
			text, _ := e.ReadUnsaved(t.Context(), "ses_1", path)
			texts <- text
		}
		answer := func() {
			got, err := e.Next(t.Context(), "ses_1")
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
