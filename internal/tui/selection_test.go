package tui

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	tea "charm.land/bubbletea/v2"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
)

// openPrompts shows a session with two prompts and their answers, of which the first one changed a file.
func openPrompts(m *model, taken *session.Revert) {
	answer := func(id session.MessageID) session.Message {
		return &session.Assistant{
			Head:    session.Head{ID: id, Time: session.MessageTime{Created: 1, Completed: 2}},
			Content: []session.Content{&session.Text{Text: "Done."}}, Finish: "stop",
		}
	}
	picture := session.File{URI: "data:image/png;base64,AA", Name: "p.png"}
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1", Agent: "build", Revert: taken}, status: api.Status{Type: api.StatusIdle},
		messages: api.Page[session.Message]{Data: []session.Message{
			answer("msg_4"), &session.User{Head: session.Head{ID: "msg_3"}, Text: "then two", Files: []session.File{picture}},
			answer("msg_2"), &session.User{Head: session.Head{ID: "msg_1"}, Text: "first one"},
		}},
	})
}

// TestSelectionEnds: Escape, the key to the newest line and a sent prompt end the selection.
func TestSelectionEnds(t *testing.T) {
	for name, end := range map[string]func(*model){
		"escape": func(m *model) { pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape}) },
		"end":    func(m *model) { pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnd, Mod: tea.ModCtrl}) },
		"sent":   func(m *model) { typeText(m, "go"); pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}) },
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		openPrompts(m, nil)
		m.renderFrame()
		m.transcript.Select(-1)
		if m.transcript.SelectedMessage() == "" {
			t.Fatal("nothing is selected")
		}
		if end(m); m.transcript.SelectedMessage() != "" {
			t.Errorf("%s: %s is selected", name, m.transcript.SelectedMessage())
		}
	}
}

// TestUndoReturnsPrompt: an undo asks for the prompt by its words, takes back what it has shown, and puts the prompt with
// its files into the composer, unless other text is typed there. The next undo replaces it.
func TestUndoReturnsPrompt(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	var staged []string
	revert := `{"data": {"messageID": "msg_2"}}`
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/revert/stage"):
			if staged = append(staged, string(body)); strings.Contains(string(body), "preview") {
				_, _ = io.WriteString(w, revert)
				return
			}
			_, _ = io.WriteString(w, `{"data": {"messageID": "msg_2"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	openPrompts(m, nil)
	previewUndo(m)
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "then two") {
		t.Errorf("the prompt is not named:\n%s", frame)
	}
	pressKeys(m, enter)
	if m.editor.Text() != "then two" || len(m.attached) != 1 {
		t.Errorf("the composer has %q and %d files", m.editor.Text(), len(m.attached))
	}
	if want := `{"messageID":"msg_2"}`; len(staged) != 2 || staged[1] != want {
		t.Errorf("staged %q, want at last %s", staged, want)
	}
	revert = `{"data": {"messageID": "msg_1", "exclusive": true}}`
	previewUndo(m)
	if pressKeys(m, enter); m.editor.Text() != "first one" || len(m.attached) != 0 {
		t.Errorf("after another undo: %q and %d files", m.editor.Text(), len(m.attached))
	}
	typeText(m, " more")
	previewUndo(m)
	if pressKeys(m, enter); m.editor.Text() != "first one more" {
		t.Errorf("typed text was replaced by %q", m.editor.Text())
	}
}

// TestConfirmationIsSeen: Enter that was typed before the dialog of an undo was on the screen does not confirm it.
func TestConfirmationIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(t)
		p.confirmDelay = armDelay
		p.start(previewUndo(p.model))
		enter := tea.KeyPressMsg{Code: tea.KeyEnter}
		p.press(enter)
		p.pass(armDelay / 2)
		p.press(enter)
		if len(p.asked) > 0 || len(p.dialogs) != 1 {
			t.Fatalf("%d dialogs, called %q", len(p.dialogs), p.asked)
		}
		p.pass(armDelay)
		if p.press(enter); len(p.asked) != 1 {
			t.Errorf("called %q, want the undo", p.asked)
		}
	})
}

// TestTimeline: Escape twice while nothing works shows the prompts with what their answers changed, without those that
// are taken back; one key undoes, forks or copies.
func TestTimeline(t *testing.T) {
	messages := `{"data": [{"id": "msg_3", "type": "user", "text": "then two", "time": {"created": 2}},
		{"id": "msg_1", "type": "user", "text": "first one", "time": {"created": 1},
		"diffs": [{"path": "a.txt", "status": "modified", "additions": 2, "deletions": 1, "patch": ""}]}], "cursor": {}}`
	var called []string
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		called = append(called, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/message") {
			_, _ = io.WriteString(w, messages)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	openPrompts(m, &session.Revert{MessageID: "msg_3", Exclusive: true})
	esc := tea.KeyPressMsg{Code: tea.KeyEscape}
	if pressKeys(m, esc); len(m.dialogs) != 0 {
		t.Fatal("one Escape opens a dialog")
	}
	pressKeys(m, esc)
	frame, _ := m.renderFrame()
	if !strings.Contains(frame, "first one") || !strings.Contains(frame, "+2 -1 in 1 file") ||
		strings.Contains(frame, "then two") {
		t.Errorf("the timeline is\n%s", frame)
	}
	called = nil
	pressKeys(m, tea.KeyPressMsg{Code: 'k', Mod: tea.ModCtrl})
	if want := `POST /api/session/ses_1/fork {"before":"msg_1"}`; len(called) != 1 || called[0] != want {
		t.Errorf("called %q, want %s", called, want)
	}
	pressKeys(m, esc, esc)
	if _, ok := m.dialogs[len(m.dialogs)-1].(*dialog.Picker); !ok {
		t.Fatal("the timeline does not open again")
	}
	called = nil
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if len(called) != 1 || !strings.Contains(called[0], `"messageID":"msg_1","before":true,"preview":true`) {
		t.Errorf("called %q, want the preview of an undo", called)
	}
}

// TestRedoOneStep: redo brings back the next prompt only, as cairn redo does.
func TestRedoOneStep(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	var changed []string
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodGet {
			changed = append(changed, r.URL.Path+" "+string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/message"):
			_, _ = io.WriteString(w, `{"data": [{"id": "msg_3", "type": "user", "text": "then two", "time": {"created": 2}},
				{"id": "msg_1", "type": "user", "text": "first one", "time": {"created": 1}}], "cursor": {}}`)
		case strings.HasSuffix(r.URL.Path, "/revert/stage"):
			_, _ = io.WriteString(w, `{"data": {"messageID": "msg_3", "exclusive": true}}`)
		default:
			_, _ = io.WriteString(w, `{"data": []}`)
		}
	})
	openPrompts(m, &session.Revert{MessageID: "msg_1", Exclusive: true, Files: []session.RevertedFile{{Path: "a.txt"}}})
	redoNext(m)
	want := `/api/session/ses_1/revert/stage {"messageID":"msg_3","messages":true,"before":true}`
	if len(changed) != 1 || changed[0] != want {
		t.Errorf("changed %q, want %s", changed, want)
	}
}
