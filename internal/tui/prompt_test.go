package tui

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/feed"
)

// TestUnsentCommands: a command that no server took is in the composer again, before what was typed since.
func TestUnsentCommands(t *testing.T) {
	for name, open := range map[string]func(*model){"first prompt": func(*model) {}, "session": openTestSession} {
		for _, text := range []string{"!make test", "/review the last commit"} {
			t.Run(name+" "+text, func(t *testing.T) {
				m := newTestModel(t, composer.DraftFile{})
				open(m)
				m.api.HTTP = &http.Client{Transport: api.Local(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					panic(http.ErrAbortHandler)
				}))}
				m.api.Base = "http://localhost"
				typeText(m, text)
				answers := make(chan tea.Msg, 1)
				m.run = func(f func(context.Context) tea.Msg) tea.Cmd { answers <- f(t.Context()); return nil }
				m.wait = m.run
				pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
				typeText(m, "later")
				m.Update(<-answers)
				if got := m.editor.Text(); got != text+"\nlater" || !strings.Contains(m.note, "the server does not answer") {
					t.Errorf("the composer has %q, the note is %q", got, m.note)
				}
			})
		}
	}
}

// TestTimeOfOpenedWork: the time of work in a session that is opened counts from the prompt or command that began it.
func TestTimeOfOpenedWork(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) session.Head {
		return session.Head{Time: session.MessageTime{Created: now.Add(-d).UnixMilli()}}
	}
	for _, begun := range []session.Message{
		&session.User{Head: ago(time.Minute)}, &session.Shell{Head: ago(time.Minute)},
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.Update(openedMsg{
			session: &session.Session{ID: "ses_1"}, status: api.Status{Type: "busy"},
			messages: api.Page[session.Message]{Data: []session.Message{
				&session.Assistant{Head: ago(time.Second)}, begun, &session.User{Head: ago(time.Hour)},
			}},
		})
		m.now = now
		if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, "working 1m0s") {
			t.Errorf("after %T: %q", begun, line)
		}
	}
}

// TestRetryCountdown: while the next attempt at an answer waits, the status line counts down to it.
func TestRetryCountdown(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.Update(updateOf(&session.StepStarted{}))
	retried := &session.Retried{Attempt: 1, Next: 61_000}
	retried.Timestamp = 1000
	m.Update(updateOf(retried))
	begun := m.retryAt.Add(-time.Minute)
	for after, want := range map[time.Duration]string{
		0: "retries in 60 s", 500 * time.Millisecond: "retries in 60 s", 59 * time.Second: "retries in 1 s",
		time.Minute: "working ",
	} {
		m.now = begun.Add(after)
		if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, want) {
			t.Errorf("after %s: %q", after, line)
		}
	}
}

// TestRetryCountdownEnds: the status line counts down neither after an attempt that is made early, nor in the work
// after an interrupted wait.
func TestRetryCountdownEnds(t *testing.T) {
	begin := &session.StepStarted{}
	for name, end := range map[string]func(*model){
		"early":       func(m *model) { applyEvent(m, session.Event{Seq: 9, Data: begin}) },
		"interrupted": func(m *model) { m.Update(feed.Updates{ID: "ses_1", List: []follow.Update{{Idle: true}}}) },
	} {
		m := newTestModel(t, composer.DraftFile{})
		openTestSession(m)
		applyEvent(m, session.Event{Seq: 7, Data: begin})
		applyEvent(m, session.Event{Seq: 8, Data: &session.Retried{Attempt: 1, Next: 60_000}})
		end(m)
		applyEvent(m, session.Event{Seq: 10, Data: &session.Prompted{MessageID: "msg_2"}})
		if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, "working") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// TestUntitledSession: a session that waits for its title is not shown by the placeholder that OpenCode's clients know.
func TestUntitledSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.session.Title = session.UntitledPrefix + "2026-11-28T04:15:44.000Z"
	if m.windowTitle() != "cairn: untitled session" || strings.Contains(m.statusLine(), "2026") {
		t.Errorf("%q, %q", m.windowTitle(), m.statusLine())
	}
}

// TestAttachmentsComeBack: a prompt that is taken back, or that no server took, keeps the files that its text does not
// name; they go with the next prompt, and Ctrl-C takes them away.
func TestAttachmentsComeBack(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	image := session.File{URI: "data:image/png;base64,AA==", Mime: "image/png", Name: "shot.png", Text: "read before"}
	named := session.File{URI: "file:///src/project/a b.txt", Name: "a b.txt"}
	prompt := session.Prompt{Text: "look at @a b.txt", Files: []session.File{named, image}}
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{{ID: "msg_1", Prompt: prompt}}})
	pickInbox(m)
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { return nil }
	withdrawn := m.inbox[0].Prompt
	m.closeDialog(m.dialogs[0])
	m.returnPrompt(withdrawn)
	frame, _ := m.renderFrame()
	if !strings.Contains(ansi.Strip(frame), "attached to the next prompt: image shot.png (1 byte)") {
		t.Errorf("the attachment is not shown:\n%s", frame)
	}
	for range 2 { // the second time no server took it
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		sent := m.unsentPrompts[0]
		if f := sent.Files; len(f) != 2 || f[0].Name != named.Name || f[1].URI != image.URI || f[1].Text != "" {
			t.Fatalf("sent with %+v", f)
		}
		m.Update(promptedMsg{prompt: sent, err: errors.New("gone")})
	}
	pressKeys(m, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	typeText(m, "next")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if files := m.unsentPrompts[0].Files; len(files) != 0 {
		t.Errorf("the next prompt has %+v", files)
	}
}

// TestCommandTakesAttachments: what is attached to the next prompt goes with the prompt of a command, too.
func TestCommandTakesAttachments(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.returnPrompt(session.Prompt{Text: "look", Files: []session.File{{URI: "data:image/png;base64,AA=="}}})
	sendPrompt(m, session.Prompt{Text: "expanded", Files: []session.File{{URI: "file:///a"}}}, false)
	if f := m.unsentPrompts[0].Files; len(f) != 2 || len(m.attached) != 0 {
		t.Errorf("sent with %+v, %d stay", f, len(m.attached))
	}
}

// TestNamedContentComesBack: the file of a prompt that is taken back is not taken for named because its name is in the
// text: its content is in the prompt, or the name is only the beginning of another one.
func TestNamedContentComesBack(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	image := session.File{URI: "data:image/png;base64,AA==", Mime: "image/png", Name: "shot.png"}
	source := session.File{URI: "file:///src/project/a.go", Name: "a.go"}
	m.returnPrompt(session.Prompt{Text: "compare @shot.png with @a.gohtml", Files: []session.File{image, source}})
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if f := m.unsentPrompts[0].Files; len(f) != 2 || f[0].URI != image.URI || f[1].URI != source.URI {
		t.Errorf("sent with %+v", f)
	}
}

// TestFoundModelIsOffered: where the guide answers although a model was found, the model is named, once.
func TestFoundModelIsOffered(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	guide := api.ContextRequest{Model: session.ModelRef{ProviderID: api.GuideProvider, ID: api.GuideModel}}
	m.Update(windowMsg{"ses_1", guide})
	if m.note != "" {
		t.Errorf("with nothing to offer: %q", m.note)
	}
	m.offers.Models = []api.Model{{ProviderID: "cairn", ID: "guide"}, {ProviderID: "ollama", ID: "qwen3:8b"}}
	m.Update(windowMsg{"ses_1", guide})
	if !strings.Contains(m.note, "/models offers ollama/qwen3:8b") {
		t.Errorf("the note is %q", m.note)
	}
	m.note = ""
	if m.Update(windowMsg{"ses_1", guide}); m.note != "" {
		t.Errorf("the second time: %q", m.note)
	}
}

// TestMissingServersAreNoted: the MCP servers that a turn lacked are named, once as long as they are the same.
func TestMissingServersAreNoted(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	w := api.ContextRequest{Servers: []string{"this turn had no tools: down failed", "another one"}}
	m.Update(windowMsg{"ses_1", w})
	if m.note != "this turn had no tools: down failed (and 1 more: /mcp)" {
		t.Errorf("the note is %q", m.note)
	}
	m.note = ""
	if m.Update(windowMsg{"ses_1", w}); m.note != "" {
		t.Errorf("the second time: %q", m.note)
	}
}
