package tui

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
)

// TestListsBeginAtTheChoice: the lists of models and agents have the current one selected.
func TestListsBeginAtTheChoice(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.session.Agent, m.session.Model = "plan", &session.ModelRef{ProviderID: "a", ID: "second"}
	m.offers.Agents = []session.Agent{{ID: "build"}, {ID: "plan"}}
	m.offers.Models = []api.Model{{ProviderID: "a", ID: "first"}, {ProviderID: "a", ID: "second"}}
	for want, show := range map[string]func(*model) tea.Cmd{"> plan ": pickAgent, "> second ": pickModel} {
		show(m)
		if frame, _ := m.renderFrame(); !strings.Contains(frame, want) {
			t.Errorf("want %q in\n%s", want, frame)
		}
	}
}

// TestWheelInDialogs: the wheel moves in the dialog on top, and the transcript below stays.
func TestWheelInDialogs(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	openTestSession(m)
	for range 20 {
		m.transcript.AddNote("a line")
	}
	m.renderFrame()
	below := m.transcript.View()
	showPalette(m)
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelLeft})
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "> sessions ") {
		t.Errorf("the second command is not selected:\n%s", frame)
	}
	if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape}); m.transcript.View() != below {
		t.Error("the wheel scrolled the transcript that the dialog covers")
	}
}

// TestSessionPreview: the list of sessions shows the last prompt and the end of the last answer of the selected one.
func TestSessionPreview(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	reads := 0
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		id, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/session/"), "/message")
		if !ok {
			_, _ = io.WriteString(w, `{"data": {}}`)
			return
		}
		reads++
		_, _ = io.WriteString(w, `{"data": [{"id": "msg_2", "type": "assistant", "content": [{"type": "text", "text": "one\n`+
			`two\nthree\nfour"}]}, {"id": "msg_1", "type": "user", "text": "prompt of `+id+`"}]}`)
	})
	m.options.List = func(context.Context, *api.Client, api.SessionQuery, int) ([]*session.Session, error) {
		return []*session.Session{{ID: "ses_1", Title: "One"}, {ID: "ses_2", Title: "Two"}}, nil
	}
	pickSession(m)
	for _, id := range []string{"ses_1", "ses_2", "ses_1"} {
		frame, _ := m.renderFrame()
		want := "> prompt of " + id + "\ntwo\nthree\nfour\n"
		if !strings.Contains(ansi.Strip(frame), want) {
			t.Errorf("want %q in\n%s", want, frame)
		}
		key := tea.KeyPressMsg{Code: tea.KeyDown}
		if id == "ses_2" {
			key.Code = tea.KeyUp
		}
		pressKeys(m, key)
	}
	if reads != 2 {
		t.Errorf("%d reads for 2 sessions", reads)
	}
}

// TestArchive: an archived session leaves the list, and the note says how to bring it back.
func TestArchive(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data": {"id": "ses_1"}}`)
	})
	m.openDialog(sessionPicker(m, []*session.Session{{ID: "ses_1", Title: "One"}, {ID: "ses_2", Title: "Two"}}, nil))
	pressKeys(m, tea.KeyPressMsg{Code: 'a', Mod: tea.ModCtrl})
	frame, _ := m.renderFrame()
	if strings.Contains(frame, "One") || !strings.Contains(frame, "cairn session archive ses_1 --undo") {
		t.Error(frame)
	}
}

// TestInboxStaysOpen: the list of prompts that wait stays open when one is moved.
func TestInboxStaysOpen(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{
		{ID: "msg_1", Prompt: session.Prompt{Text: "one"}}, {ID: "msg_2", Prompt: session.Prompt{Text: "two"}},
	}})
	pickInbox(m)
	up := tea.KeyPressMsg{Code: tea.KeyUp, Mod: tea.ModCtrl}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyDown}, up, up) // it is the first one then
	frame, _ := m.renderFrame()
	if one, two := strings.Index(frame, "one"), strings.Index(frame, "two"); len(m.dialogs) != 1 || two > one {
		t.Errorf("%d dialogs:\n%s", len(m.dialogs), frame)
	}
}

// TestInboxFollows: the open list of prompts that wait loses the one that begins.
func TestInboxFollows(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{
		{ID: "msg_1", Prompt: session.Prompt{Text: "one"}}, {ID: "msg_2", Prompt: session.Prompt{Text: "two"}},
	}})
	pickInbox(m)
	applyEvent(m, session.Event{SessionID: "ses_1", Seq: 9, Data: &session.Prompted{MessageID: "msg_1"}})
	m.note = ""
	if frame, _ := m.renderFrame(); strings.Contains(frame, "one") || !strings.Contains(frame, "> two") {
		t.Error(frame)
	}
	dropInput(m, "msg_2")
	pressKeys(m, tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: tea.KeyEnter})
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "the list is empty") {
		t.Error(frame)
	}
}

// TestDeleteKeeps: Enter after the question whether a session is deleted keeps it.
func TestDeleteKeeps(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	calls := 0
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { calls++; return nil }
	m.openDialog(sessionPicker(m, []*session.Session{{ID: "ses_1", Title: "One"}}, nil))
	pressKeys(m, tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: tea.KeyEnter})
	if calls != 0 || len(m.dialogs) != 1 {
		t.Errorf("%d calls, %d dialogs", calls, len(m.dialogs))
	}
}

// TestInboxOfReopenedSession: the list of prompts that wait follows a session that is opened again, as after a lost
// connection, and one that is deleted. A list below another one offers nothing that waits no longer.
func TestInboxOfReopenedSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	waiting := inboxMsg{id: "ses_1", inbox: []*session.Input{{ID: "msg_1", Prompt: session.Prompt{Text: "first"}}}}
	m.Update(waiting)
	pickInbox(m)
	openTestSession(m)
	frame, _ := m.renderFrame()
	if !strings.Contains(frame, "the list is empty") {
		t.Errorf("the prompt is shown after it was sent:\n%s", frame)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyEscape})
	m.Update(waiting)
	pickInbox(m)
	pickInbox(m)
	closeSession(m)
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	pressKeys(m, enter, tea.KeyPressMsg{Code: tea.KeyEscape}, enter)
	if !strings.Contains(m.note, "waits no longer") {
		t.Errorf("the note is %q", m.note)
	}
}

// TestCompactionComesBack: a compaction that is taken back is in the composer as it was typed.
func TestCompactionComesBack(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	in := &session.Input{ID: "msg_1", Compaction: &session.CompactionRequest{Instructions: "keep names"}}
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{in}})
	withdrawPrompt(m, in, true)
	if got := m.editor.Text(); got != "/compact keep names" {
		t.Errorf("the composer has %q", got)
	}
}
