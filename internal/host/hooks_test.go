//go:build unix

package host

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestHooks: the hooks of the configuration run from the next prompt on, and those who follow a session see what they
// have to say.
func TestHooks(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	write(t, filepath.Join(home, "config", "cairn.jsonc"), `{"hooks": {
		"UserPromptSubmit": [{"hooks": [
			{"type": "command", "command": "echo odd >&2; exit 3"},
			{"type": "command", "command": "echo The branch is main."}]}],
		"Stop": [{"hooks": [
			{"type": "command", "command": "grep -q '\"stop_hook_active\":true' || { echo Go on. >&2; exit 2; }"}]}]}}`)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	s, err := c.API.Create(t.Context(), api.CreateSession{Title: "Hooks"})
	if err != nil {
		t.Fatal(err)
	}
	// Follow the feed from before the prompt.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, notes := make(chan bool), make(chan session.Note, 1)
	go func() {
		first := true
		for u, err := range c.API.Feed(ctx, -1) {
			if err != nil {
				close(notes)
				return
			}
			if first {
				close(began)
				first = false
			}
			if n := follow.ParseNote(u); n != nil {
				notes <- *n
				return
			}
		}
	}()
	<-began
	if _, err := c.API.Prompt(t.Context(), s.ID, say("go")); err != nil {
		t.Fatal(err)
	}
	if err := c.API.Wait(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if n := <-notes; n != (session.Note{SessionID: s.ID, Source: "hook/UserPromptSubmit/1", Text: "exit code 3: odd"}) {
		t.Errorf("the note is %+v", n)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if said := v.said[len(v.said)-1]; !strings.Contains(said, "The branch is main.") || !strings.Contains(said, "Go on.") {
		t.Errorf("the model does not read what hooks say:\n%s", said)
	}
}
