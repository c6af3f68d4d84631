package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

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
		if len(e.sessions) != 0 {
			t.Errorf("%d sessions are left", len(e.sessions))
		}
	})
}
