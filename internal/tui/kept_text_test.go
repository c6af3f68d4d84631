package tui

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/offers"
)

// TestRefusedWords: a slash command that refuses the words behind it, or whose call fails, leaves them in the composer.
func TestRefusedWords(t *testing.T) {
	existing := filepath.Join(t.TempDir(), "a.md")
	if err := os.WriteFile(existing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fail := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	open := func(m *model) {
		openTestSession(m)
		answerCalls(t, m, fail)
		m.wait = m.run
	}
	for typed, begin := range map[string]func(*model){
		"/stash words":        func(m *model) { m.stash = make([]string, maxStash) },
		"/rename New title":   func(*model) {},
		"/export " + existing: open,
		"/export a.md":        func(*model) {},
		"/effort huge":        func(*model) {},
		"/new fix the tests":  func(*model) {},
		"/rename Other title": open,
	} {
		m := newTestModel(t, composer.DraftFile{})
		begin(m)
		typeText(m, typed)
		if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}); m.editor.Text() != typed || m.note == "" {
			t.Errorf("%s leaves %q, the note is %q", typed, m.editor.Text(), m.note)
		}
	}
}

// TestPasteAtConfirmation: text that is pasted while a dialog asks for a confirmation closes it and is in the composer.
// A text that is only read stays open.
func TestPasteAtConfirmation(t *testing.T) {
	confirmed := 0
	confirm := func() tea.Cmd { confirmed++; return nil }
	choice := func(m *model) dialog.Dialog {
		return &dialog.Choice{Type: m.typeText, Options: []dialog.Reply{{Key: "y", Label: "yes", Do: confirm}, {Label: "no"}}}
	}
	for name, c := range map[string]struct {
		open  func(*model) dialog.Dialog
		typed string
		stays int
	}{
		"text":               {func(m *model) dialog.Dialog { return &dialog.Text{Enter: confirm, Type: m.typeText} }, "", 0},
		"text that is read":  {func(*model) dialog.Dialog { return &dialog.Text{Title: "Help"} }, "", 1},
		"choice":             {choice, "", 0},
		"choice after a key": {choice, "y", 0},
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.openDialog(c.open(m))
		typeText(m, c.typed)
		m.Update(tea.PasteMsg{Content: "fix this\nand that"})
		if got := m.editor.Text(); got != c.typed+"fix this\nand that" || len(m.dialogs) != c.stays || confirmed != 0 {
			t.Errorf("%s: the composer has %q, %d dialogs, %d confirmations", name, got, len(m.dialogs), confirmed)
		}
	}
}

// TestNoteByItsBeginning: a line that begins with # and a blank is one for AGENTS.md unless its beginning was pasted,
// also after a restart, from the history and the stash, and with the keys of vi.
func TestNoteByItsBeginning(t *testing.T) {
	away := tea.KeyPressMsg{Code: 'w', Mod: tea.ModAlt}
	up, home := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyHome}
	file := composer.NewDraftFile(filepath.Join(t.TempDir(), "tui", "draft.json"))
	paste := func(m *model, text string) { m.Update(tea.PasteMsg{Content: text}) }
	for name, c := range map[string]struct {
		do   func(*model) *model
		want bool
	}{
		"typed": {func(m *model) *model { typeText(m, "# use tabs"); return m }, true},
		"restart": {func(m *model) *model {
			typeText(m, "# use tabs")
			m.Update(saveMsg{})
			return newTestModel(t, file)
		}, true},
		"history": {func(m *model) *model {
			m.history.Add("# use tabs")
			pressKeys(m, up)
			return m
		}, true},
		"stash": {func(m *model) *model {
			typeText(m, "# use tabs")
			pressKeys(m, away, away)
			return m
		}, true},
		"vi": {func(m *model) *model {
			m.vi.On = true
			typeText(m, "x# use tabs")
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
			typeText(m, "0x")
			return m
		}, true},
		"mark before pasted text": {func(m *model) *model {
			paste(m, "use tabs")
			pressKeys(m, home)
			typeText(m, "# ")
			return m
		}, true},
		"pasted":              {func(m *model) *model { paste(m, "# A heading"); return m }, false},
		"pasted and typed on": {func(m *model) *model { paste(m, "# A heading"); typeText(m, " more"); return m }, false},
		"pasted after a note": {func(m *model) *model {
			typeText(m, "# x")
			pressKeys(m, tea.KeyPressMsg{Code: 'u', Mod: tea.ModCtrl})
			paste(m, "# A heading")
			return m
		}, false},
		"pasted and not sent": {func(m *model) *model {
			paste(m, "# A heading")
			m.run = func(func(context.Context) tea.Msg) tea.Cmd { return nil }
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
			m.returnPrompt(session.Prompt{Text: "# A heading"})
			m.unsentPrompts = nil
			return m
		}, false},
	} {
		m := newTestModel(t, file)
		m.editor.Clear()
		m = c.do(m)
		calls := 0
		m.run = func(func(context.Context) tea.Msg) tea.Cmd { calls++; return nil }
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		if note := len(m.unsentPrompts) == 0; note != c.want || calls != 1 {
			t.Errorf("%s: a note %v, want %v", name, note, c.want)
		}
	}
}

// TestNoteClearsOwnText: adding a line to AGENTS.md takes its text out of the composer, and leaves another one there.
func TestNoteClearsOwnText(t *testing.T) {
	dir := t.TempDir()
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	m := newTestModel(t, composer.DraftFile{})
	answer(m, "/api/location", `{"directory":"`+dir+`","project":{"id":"global","directory":"/"}}`)
	typeText(m, "# use tabs")
	pressKeys(m, enter)
	m.returnPrompt(session.Prompt{Text: "a prompt that no server took"})
	pressKeys(m, enter)
	b, err := os.ReadFile(filepath.Join(dir, "AGENTS.md"))
	if err != nil || string(b) != "- use tabs\n" || !strings.Contains(m.editor.Text(), "a prompt that no server took") {
		t.Errorf("%v: the file is %q, the composer has %q", err, b, m.editor.Text())
	}
}

// TestImagesOfOneName: two images with the same name in different directories are sent, also when the first one was in
// a prompt that no server took.
func TestImagesOfOneName(t *testing.T) {
	first, second := writeTestImage(t), writeTestImage(t)
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.PasteMsg{Content: first})
	files, _ := sentFiles(m)
	m.returnPrompt(session.Prompt{Text: m.unsentPrompts[0].Text, Files: files})
	m.unsentPrompts = nil
	typeText(m, " ")
	m.Update(tea.PasteMsg{Content: second})
	if files, _ := sentFiles(m); len(files) != 2 {
		t.Errorf("%d files are sent", len(files))
	}
}

// TestRefusedFirstPrompt: a prompt of the command line that is not sent leaves a draft as it is and is put away then.
func TestRefusedFirstPrompt(t *testing.T) {
	blind := offers.PromptOffers{Models: []api.Model{{
		ID: "blind", ProviderID: "mock", Capabilities: api.ModelCapabilities{Input: []string{"text"}},
	}}}
	image := session.File{URI: "data:image/png;base64,AA==", Mime: "image/png", Name: "shot.png"}
	for draft, want := range map[string]string{"": "fix it", "a draft": "a draft"} {
		for name, first := range map[string]firstPrompt{
			"effort": {text: "fix it", effort: "huge", opened: true}, "model": {text: "fix it", opened: true},
		} {
			m := newTestModel(t, composer.DraftFile{})
			m.model, m.first, m.attached = &session.ModelRef{ID: "blind", ProviderID: "mock"}, first, []session.File{image}
			typeText(m, draft)
			m.Update(blind)
			away := strings.Join(m.stash, "|")
			if m.editor.Text() != want || (away == "fix it") != (draft != "") || m.note == "" {
				t.Errorf("%s, draft %q: the composer has %q, put away %q, note %q", name, draft, m.editor.Text(), away, m.note)
			}
		}
	}
}

// TestDeclinedCompaction: the instructions of a compaction stay in the composer until it is confirmed.
func TestDeclinedCompaction(t *testing.T) {
	enter, escape := tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyEscape}
	for name, c := range map[string]struct {
		key    tea.KeyPressMsg
		status int
		want   string
	}{
		"declined": {escape, http.StatusOK, "/compact keep names"}, "confirmed": {enter, http.StatusOK, ""},
		"preview fails": {escape, http.StatusConflict, "/compact keep names"},
	} {
		m := newTestModel(t, composer.DraftFile{})
		openTestSession(m)
		answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, `{"data": {}}`)
		})
		typeText(m, "/compact keep names")
		if pressKeys(m, enter, c.key); m.editor.Text() != c.want {
			t.Errorf("%s: the composer has %q", name, m.editor.Text())
		}
	}
}

// TestUnsavedEdits: an edit of a pending prompt, and a new title of another session, are not lost if they are refused.
func TestUnsavedEdits(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	editInput(m, &session.Input{ID: "msg_1", Prompt: session.Prompt{Text: "one"}})
	typeText(m, " more")
	if pressKeys(m, enter); m.editor.Text() != "one more" {
		t.Errorf("the composer has %q", m.editor.Text())
	}
	renameItem(m, dialog.Entry{ID: "ses_2"}, "Title")
	typeText(m, " two")
	pressKeys(m, enter)
	if frame, _ := m.renderFrame(); len(m.dialogs) != 1 || !strings.Contains(frame, "> Title two") || m.note == "" {
		t.Errorf("the note is %q:\n%s", m.note, frame)
	}
}

// TestFullPlace: an interface that cannot keep its text says so at its start.
func TestFullPlace(t *testing.T) {
	place := filepath.Join(t.TempDir(), "place.json")
	for !strings.Contains(newTestModel(t, composer.ClaimDraftFile(place)).note, "text that is typed in this one is lost") {
		if entries, err := os.ReadDir(filepath.Dir(place)); err != nil || len(entries) > 100 {
			t.Fatalf("%d files without a note: %v", len(entries), err)
		}
	}
}

// TestUndoOfReport: an undo names the report of a subagent by a line about it, and does not make it a prompt.
func TestUndoOfReport(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"messageID": "msg_1"}}`)
	})
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1"}, status: api.Status{Type: api.StatusIdle},
		messages: api.Page[session.Message]{Data: []session.Message{&session.User{
			Head: session.Head{ID: "msg_2"}, Parts: []session.PromptPart{{Extra: jsontext.Value(`{"synthetic":true}`)}},
			Text: "<task id=\"ses_2\" state=\"error\">\n<task_error>\nno key\n</task_error>\n</task>",
		}, &session.Assistant{
			Head:    session.Head{ID: "msg_1", Time: session.MessageTime{Created: 1, Completed: 2}},
			Content: []session.Content{&session.Text{Text: "Done."}}, Finish: "stop",
		}}},
	})
	previewUndo(m)
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "the subagent ses_2 failed: no key") {
		t.Errorf("the report is not named:\n%s", frame)
	}
	if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}); !m.editor.IsEmpty() {
		t.Errorf("the composer has %q", m.editor.Text())
	}
}
