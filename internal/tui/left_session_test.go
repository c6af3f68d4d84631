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
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/fifotest"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// delayCalls has the calls of the model answered only when the returned function is called, in their order; it reports
// false if there is none. It returns the calls that were made, without those that only read.
func delayCalls(t *testing.T, m *model) (calls *[]string, answerNext func() bool) {
	calls = &[]string{}
	m.api.Base = "http://localhost"
	m.api.HTTP = &http.Client{Transport: api.Local(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodGet {
			*calls = append(*calls, r.URL.Path+" "+string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		id := "ses_new"
		if _, after, ok := strings.Cut(string(body), `"id":"ses_`); ok {
			id = "ses_" + after[:strings.Index(after, `"`)]
		}
		_, _ = io.WriteString(w, `{"data": {"id": "`+id+`", "messageID": "msg_1", "prompt": {"text": "expanded"}}}`)
	}))}
	var waiting []func(context.Context) tea.Msg
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd { waiting = append(waiting, f); return nil }
	m.wait = m.run
	return calls, func() bool {
		if len(waiting) == 0 {
			return false
		}
		f := waiting[0]
		waiting = waiting[1:]
		m.Update(f(t.Context()))
		return true
	}
}

// TestPromptOfLeftSession: the session of a first prompt that is answered after the person has left it does not come
// back, and the session on the screen is not taken for working.
func TestPromptOfLeftSession(t *testing.T) {
	for name, leave := range map[string]func(*model){
		"new session":     func(m *model) { beginSession(m) },
		"another session": openTestSession,
		"opening another": func(m *model) { openSession(m, "ses_2") },
	} {
		m := newTestModel(t, composer.DraftFile{})
		_, answerNext := delayCalls(t, m)
		sendPrompt(m, session.Prompt{Text: "one"}, false)
		leave(m)
		before := m.session
		answerNext()
		if m.session != before || m.working {
			t.Errorf("%s: the session is %+v, working %v", name, m.session, m.working)
		}
		if len(m.unsentPrompts) != 0 {
			t.Errorf("%s: the prompt is still being sent", name)
		}
	}
}

// TestCommandOfLeftSession: a command that was typed before a session began is not sent to one that was opened later,
// and is in the composer again.
func TestCommandOfLeftSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	typeText(m, "/review it")
	calls, answerNext := delayCalls(t, m)
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	openTestSession(m)
	if answerNext(); m.editor.Text() != "/review it" || len(m.unsentPrompts) != 0 {
		t.Errorf("the composer has %q, sent are %v, calls %q", m.editor.Text(), m.unsentPrompts, *calls)
	}
	// The session that the prompt typed meanwhile has begun is the one that the command was for.
	m = newTestModel(t, composer.DraftFile{})
	typeText(m, "/review it")
	_, answerNext = delayCalls(t, m)
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(openedMsg{session: &session.Session{ID: describeNewSession(m).ID}})
	if answerNext(); len(m.unsentPrompts) != 1 {
		t.Errorf("the composer has %q", m.editor.Text())
	}
}

// TestShellOfLeftSession: a shell command that begins a session runs in it, and does not open it again once it was left.
func TestShellOfLeftSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	calls, answerNext := delayCalls(t, m)
	runShell(m, "make")
	openTestSession(m)
	visits := m.visits
	for answerNext() {
	}
	if m.visits != visits || len(*calls) != 2 || !strings.Contains((*calls)[1], "/shell") {
		t.Errorf("%d sessions were opened, calls %q", m.visits-visits, *calls)
	}
}

// TestWindowOfLeftSession: what a session that was left takes of its model's window is not shown in another one.
func TestWindowOfLeftSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	_, answerNext := delayCalls(t, m)
	m.session = &session.Session{ID: "ses_1"}
	readWindow(m)
	m.session = &session.Session{ID: "ses_2"}
	m.window.Agent = "plan"
	if answerNext(); m.window.Agent != "plan" {
		t.Errorf("the window is %+v", m.window)
	}
}

// TestAsksAfterDeletion: when the session on the screen is deleted, the asks of the other sessions are read again.
func TestAsksAfterDeletion(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	reads := 0
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { reads++; return nil }
	m.Update(feed.Updates{ID: "ses_1", List: []follow.Update{{End: session.NotFound("session", "ses_1")}}})
	if m.session != nil || reads == 0 {
		t.Errorf("%d reads, the session is %+v", reads, m.session)
	}
}

// TestWaitingAsks: the ask on the screen says how many wait behind it, also when one of those was answered elsewhere.
func TestWaitingAsks(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	for _, id := range []string{"per_1", "per_2", "per_3"} {
		addAsk(m, editAsk(id))
	}
	removeAsk(m, "per_2")
	if d, ok := m.asks.dialog.(*dialog.Ask); !ok || d.Waiting != 1 {
		t.Errorf("%+v", d)
	}
}

// TestPromptsKeepOrder: a prompt without files is sent after one before it whose files are still being read, to the
// session in which it was typed.
func TestPromptsKeepOrder(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.working = false
	m.Update(tea.PasteMsg{Content: writeTestImage(t)})
	calls, answerNext := delayCalls(t, m)
	for _, text := range []string{"one", "two"} {
		typeText(m, text)
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	if len(m.unsentPrompts) != 2 {
		t.Fatalf("%d prompts are being sent", len(m.unsentPrompts))
	}
	m.session.ID = "ses_2" // another one is opened meanwhile
	answerNext()           // the image is read
	sent := 0
	for _, c := range *calls {
		if strings.Contains(c, "/prompt") {
			sent++
		}
	}
	if m.unsentPrompts[1].sent {
		t.Errorf("the second prompt is sent before the first one was answered (%d calls)", sent)
	}
	for range 4 {
		answerNext()
	}
	var texts []string
	for _, c := range *calls {
		for _, text := range []string{"one", "two"} {
			if strings.Contains(c, text+`"`) && strings.HasPrefix(c, "/api/session/ses_1/") {
				texts = append(texts, text)
			}
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, texts); diff != "" {
		t.Errorf("sent (-want +got):\n%s\n%.300q", diff, *calls)
	}
}

// TestUnreadableImage: a prompt whose image cannot be read is in the composer again; the one after it is sent.
func TestUnreadableImage(t *testing.T) {
	image := writeTestImage(t)
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.Update(tea.PasteMsg{Content: image})
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	calls, answerNext := delayCalls(t, m)
	m.agent = "plan"
	text := m.editor.Text()
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	typeText(m, "two")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	answerNext()
	if m.editor.Text() != strings.TrimSpace(text) || !strings.Contains(m.note, "not found") || m.agent != "plan" {
		t.Errorf("the composer has %q, the note is %q, the agent %q", m.editor.Text(), m.note, m.agent)
	}
	if answerNext(); len(*calls) != 1 || !strings.Contains((*calls)[0], "two") {
		t.Errorf("calls %q", *calls)
	}
}

// TestNoteIntoPipe: AGENTS.md that has become a pipe since it was shown is not read, which would wait for ever.
func TestNoteIntoPipe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "AGENTS.md")
	m := newTestModel(t, composer.DraftFile{})
	answer(m, "/api/location", `{"directory":"`+dir+`","project":{"id":"global","directory":"/"}}`)
	typeText(m, "# use tabs")
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	pressKeys(m, enter)
	fifotest.Make(t, file)
	if pressKeys(m, enter); !strings.Contains(m.note, "not a regular file") || m.editor.Text() != "# use tabs" {
		t.Errorf("the note is %q, the composer has %q", m.note, m.editor.Text())
	}
}

// TestCancelJobAsks: ctrl+d in the list of jobs asks before it ends one, and text closes the question.
func TestCancelJobAsks(t *testing.T) {
	m, calls := newRecordingModel(t)
	m.openDialog(jobPicker(m, "ses_1", []session.Job{{ID: "job_1", Command: "make\x1b[2J"}}))
	cancel, enter := tea.KeyPressMsg{Code: 'd', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: tea.KeyEnter}
	pressKeys(m, cancel, enter)
	if len(*calls) != 0 || len(m.dialogs) != 1 {
		t.Errorf("calls %q, %d dialogs", *calls, len(m.dialogs))
	}
	pressKeys(m, cancel, tea.KeyPressMsg{Code: 'y', Text: "y"})
	if frame, _ := m.renderFrame(); strings.Contains(frame, "\x1b[2J") {
		t.Errorf("%q", frame)
	}
	if pressKeys(m, enter); len(*calls) != 1 {
		t.Errorf("calls %q", *calls)
	}
}
