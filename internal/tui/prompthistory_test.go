package tui

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestEarlierPrompts: the picker finds a prompt of this place by any of its words and puts it into the composer.
func TestEarlierPrompts(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.history.Prompts = []string{"first\nwith a needle", "second", "third"}
	typeText(m, "typed")
	pressKeys(m, tea.KeyPressMsg{Code: 'p', Mod: tea.ModAlt})
	typeText(m, "needle")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if got := m.editor.Text(); got != "first\nwith a needle" {
		t.Errorf("the composer has %q", got)
	}
	pressKeys(m, tea.KeyPressMsg{Code: '_', Mod: tea.ModCtrl})
	if got := m.editor.Text(); got != "typed" {
		t.Errorf("undo of the edit brings back %q", got)
	}
}

// TestStash: typed text that is put away survives a restart and comes back, the newest first.
func TestStash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tui", "draft.json")
	file := composer.NewDraftFile(path)
	key := tea.KeyPressMsg{Code: 'w', Mod: tea.ModAlt}
	m := newTestModel(t, file)
	typeText(m, "one")
	pressKeys(m, key)
	typeText(m, "/stash two words")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if above := ansi.Strip(strings.Join(m.aboveLines(20), "\n")); !strings.Contains(above, "put away: two words and 1 more") {
		t.Errorf("above the composer: %s", above)
	}
	// It is not written again with each change of the typed text.
	typeText(m, "typed")
	m.Update(saveMsg{})
	if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "two words") || !strings.Contains(string(b), "typed") {
		t.Errorf("%v: the draft's file is %s", err, b)
	}
	m.editor.Clear()
	m.Update(saveMsg{})
	m = newTestModel(t, file)
	for _, want := range []string{"two words", "one"} {
		if pressKeys(m, key); m.editor.Text() != want {
			t.Errorf("the composer has %q, want %q", m.editor.Text(), want)
		}
		m.editor.DiscardText()
	}
	if m = newTestModel(t, file); len(m.stash) != 0 {
		t.Errorf("still put away: %q", m.stash)
	}
}

// TestProjectNote: a typed # and a blank add the line to AGENTS.md after its diff and Enter; Escape keeps the text, and
// a pasted heading is a prompt.
func TestProjectNote(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "AGENTS.md")
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	begin := func(before string) *model {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		m := newTestModel(t, composer.DraftFile{})
		answer(m, "/api/location", `{"directory":"`+dir+`","project":{"id":"global","directory":"/"}}`)
		return m
	}
	content := func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	m := begin("# Rules\nrun the tests")
	typeText(m, "# use tabs")
	pressKeys(m, enter)
	shown := ansi.Strip(strings.Join(m.dialogs[0].RenderLines(m.theme, 100, 30), "\n"))
	if !strings.Contains(shown, "- use tabs") || content() != "# Rules\nrun the tests" {
		t.Errorf("before Enter the file is %q and the dialog\n%s", content(), shown)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
	if got := m.editor.Text(); got != "# use tabs" {
		t.Errorf("after Escape the composer has %q", got)
	}
	pressKeys(m, enter, enter)
	if got := content(); got != "# Rules\nrun the tests\n- use tabs\n" || !m.editor.IsEmpty() {
		t.Errorf("the file is %q, the composer has %q", got, m.editor.Text())
	}

	m = begin("x\n")
	m.Update(tea.PasteMsg{Content: "# A heading"})
	if _, sent := sentFiles(m); !sent || content() != "x\n" {
		t.Errorf("a pasted heading: sent %v, the file is %q", sent, content())
	}

	m = begin("x\n")
	typeText(m, "# note")
	pressKeys(m, enter)
	typeText(m, "y") // a sentence goes on while the dialog opens
	pressKeys(m, enter)
	if content() == "x\n- note\n" {
		t.Error("text and Enter add the line")
	}
}

// answer has the calls of the model made at once: the path is answered with the body, others with an error.
func answer(m *model, path, body string) {
	m.api = stubAPI(path, body)
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		if msg := f(context.Background()); msg != nil {
			m.Update(msg)
		}
		return nil
	}
}

// stubAPI is a client of a server that knows one path.
func stubAPI(path, body string) *api.Client {
	handle := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body)) // of a test
	}
	return &api.Client{HTTP: &http.Client{Transport: api.Local(http.HandlerFunc(handle))}, Base: "http://localhost"}
}
