package tui

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// TestModes: a key goes through the modes, which the status line shows; a new session asks again.
func TestModes(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.offers.Agents = []session.Agent{{ID: "build"}, {ID: "plan"}}
	key := tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	for i, want := range []struct {
		line   string
		policy session.AskPolicy
		agent  string
	}{
		{"ready · edits pass · build ·", "edits", ""}, {"ready · plan ·", "", "plan"}, {"ready · build ·", "", "build"},
	} {
		pressKeys(m, key)
		if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, want.line) || m.policy != want.policy || m.agent != want.agent {
			t.Errorf("press %d: %q, policy %q, agent %q", i, line, m.policy, m.agent)
		}
	}
	// It lasts as long as its session, which begins with the first prompt and is read again after an undo.
	m = newTestModel(t, composer.DraftFile{})
	pressKeys(m, key)
	m.Update(promptedMsg{session: &session.Session{ID: "ses_1"}, prompt: &outgoingPrompt{}})
	openTestSession(m)
	if m.policy != "edits" {
		t.Error("the mode ends within its session")
	}
	for name, leave := range map[string]func(){
		"new session":     func() { beginSession(m) },
		"another session": func() { m.Update(openedMsg{session: &session.Session{ID: "ses_2"}}) },
	} {
		openTestSession(m)
		m.policy = "edits"
		if leave(); m.policy != "" {
			t.Errorf("%s: the mode outlives its session", name)
		}
		m.note = ""
		if openTestSession(m); m.policy != "edits" || m.note != "" {
			t.Errorf("%s: the session comes back with the mode %q, the note is %q", name, m.policy, m.note)
		}
		// The plan that was chosen and not yet used stays with its session, too.
		m.policy, m.agent = "", session.AgentPlan
		if leave(); m.agent != "" {
			t.Errorf("%s: the agent %s outlives its session", name, m.agent)
		}
		if openTestSession(m); m.agent != session.AgentPlan {
			t.Errorf("%s: the session comes back with the agent %q", name, m.agent)
		}
		m.agent = ""
	}
}

// TestModeOfRunningPrompt: while a prompt runs, the status line has the mode with which it was sent, and that of the
// next one. A new process begins with the first mode, and says so if the last prompt had another one.
func TestModeOfRunningPrompt(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 24})
	openTestSession(m)
	key := tea.KeyPressMsg{Code: tea.KeyTab, Mod: tea.ModShift}
	pressKeys(m, key)
	m.Update(updateOf(&session.Prompted{MessageID: "msg_9", Asks: "edits"}))
	check := func(want string) {
		t.Helper()
		if line := ansi.Strip(m.statusLine()); !strings.Contains(line, want) {
			t.Errorf("%q, want %q", line, want)
		}
	}
	check(" · edits pass · build ·")
	pressKeys(m, key)
	check(" · edits pass → ask (next prompt) · build ·")
	m.Update(updateOf(&session.Prompted{MessageID: "msg_a"}))
	m.policy = "edits"
	check(" · ask → edits pass (next prompt) · build ·")

	m = newTestModel(t, composer.DraftFile{})
	edits := editsPass
	opened := openedMsg{session: &session.Session{ID: "ses_2"}, policy: &edits, status: api.Status{Type: "busy"}}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 24})
	m.Update(opened)
	check(" · edits pass → ask (next prompt) ·")
	if m.policy != "" || !strings.Contains(m.note, "edits pass") {
		t.Errorf("the mode is %q, the note %q", m.policy, m.note)
	}
	m.note = ""
	if m.Update(opened); m.note != "" {
		t.Errorf("once more: %q", m.note)
	}
	// The prompt is too long ago to be found: nothing is said about it.
	opened.policy, m.policy = nil, editsPass
	m.Update(opened)
	check(" · edits pass (next prompt) ·")
	if m.policy = ""; strings.Contains(ansi.Strip(m.statusLine()), "ask") {
		t.Errorf("an unknown mode is shown: %q", ansi.Strip(m.statusLine()))
	}
}

// TestLateSession: a session that was asked for and arrives when the person has gone on does not come back.
func TestLateSession(t *testing.T) {
	for name, leave := range map[string]func(*model){
		"new session":     func(m *model) { beginSession(m) },
		"another session": func(m *model) { openSession(m, "ses_2") },
		"deleted":         closeSession,
	} {
		m := newTestModel(t, composer.DraftFile{})
		openSession(m, "ses_1")
		asked := m.visits
		leave(m)
		if m.Update(openedMsg{visit: asked, session: &session.Session{ID: "ses_1"}}); m.session != nil {
			t.Errorf("%s: %s is on the screen", name, m.session.ID)
		}
	}
	m := newTestModel(t, composer.DraftFile{})
	openSession(m, "ses_1")
	if m.Update(openedMsg{visit: m.visits, session: &session.Session{ID: "ses_1"}}); m.session == nil {
		t.Error("the session that was asked for last is not shown")
	}
}

// TestDirectoryOfSession: in a session of another directory files, commands and notes are those of there; the next new
// session is one of the interface's own directory again.
func TestDirectoryOfSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.api.Directory = "/src/project"
	m.Update(openedMsg{session: &session.Session{ID: "ses_2", Location: session.Location{Directory: "/src/other"}}})
	if m.api.Directory != "/src/other" || !strings.Contains(m.note, "this session works in") {
		t.Errorf("directory %q, note %q", m.api.Directory, m.note)
	}
	if beginSession(m); m.api.Directory != "/src/project" {
		t.Errorf("a new session is of %q", m.api.Directory)
	}
	// It is deleted elsewhere.
	m.Update(openedMsg{session: &session.Session{ID: "ses_2", Location: session.Location{Directory: "/src/other"}}})
	m.Update(feed.Updates{ID: "ses_2", List: []follow.Update{{End: session.NotFound("session", "ses_2")}}})
	if m.session != nil || m.api.Directory != "/src/project" {
		t.Errorf("after the deletion a new session is of %q", m.api.Directory)
	}
}

// TestGoneDirectory: a session whose directory does not exist any more can be read, from the own directory; so can the
// lists when the directory of the session on the screen is removed.
func TestGoneDirectory(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	var lists []string
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		dir, _ := url.PathUnescape(r.Header.Get("X-Opencode-Directory"))
		switch {
		case r.URL.Path == "/api/session/ses_2":
			_, _ = io.WriteString(w, `{"data": {"id": "ses_2", "location": {"directory": "/src/gone"}}}`)
		case strings.HasSuffix(r.URL.Path, "/active"), strings.HasSuffix(r.URL.Path, "/status"):
			_, _ = io.WriteString(w, `{"data": {}}`)
		case r.URL.Path != "/api/location":
			_, _ = io.WriteString(w, `{"data": []}`)
		case dir == "/src/gone":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"_tag": "InvalidRequestError", "message": "it does not exist", "field": "directory"}`)
		default:
			_, _ = io.WriteString(w, `{"directory": "/src/project", "repository": "/src/project", "project": {"id": "one", "directory": "/src/project"}}`)
		}
	})
	m.api.Directory = "/src/project"
	m.options.List = func(_ context.Context, c *api.Client, q api.SessionQuery, _ int) ([]*session.Session, error) {
		lists = append(lists, c.Directory+" "+string(q.Project))
		return nil, nil
	}
	openSession(m, "ses_2")
	if m.session == nil || m.api.Directory != "/src/project" || !strings.Contains(m.note, "is gone: /src/gone") {
		t.Errorf("directory %q, note %q", m.api.Directory, m.note)
	}
	m.workIn("/src/gone") // it was there when the session was opened
	pickSession(m)
	if diff := cmp.Diff([]string{"/src/project one"}, lists); diff != "" {
		t.Errorf("lists (-want +got):\n%s", diff)
	}
}

// TestFirstPrompts: prompts that are sent before the first one is answered begin one session.
func TestFirstPrompts(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	for _, text := range []string{"one", "two"} {
		sendPrompt(m, session.Prompt{Text: text}, false)
	}
	first := describeNewSession(m).ID
	if sendPrompt(m, session.Prompt{Text: "three"}, false); describeNewSession(m).ID != first || first == "" {
		t.Errorf("prompts are for the sessions %s and %s", first, describeNewSession(m).ID)
	}
	if beginSession(m); describeNewSession(m).ID == first {
		t.Error("a new session has the id of the one before")
	}
}
