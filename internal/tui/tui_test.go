package tui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/follow"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/feed"
	"github.com/cairn-dev/cairn/internal/tui/screen"
)

var update = flag.Bool("update", false, "write the golden frames")

// newTestModel returns a model whose calls of the API are not made.
func newTestModel(t *testing.T, draft composer.DraftFile) *model {
	t.Helper()
	env := func(name string) string {
		return map[string]string{"NO_COLOR": "1", "LANG": "C.UTF-8"}[name]
	}
	th, err := style.New("", env)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(Options{Client: &api.Client{}, Where: "/src/project", Env: env, Store: draft, Out: io.Discard}, th)
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { return nil }
	m.wait, m.confirmDelay = m.run, 0
	m.readDisk = func(f func() tea.Msg) tea.Cmd { m.Update(f()); return nil }
	m.follow = func(session.ID, int64, session.Message) watched { return unwatched() }
	return m
}

func pressKeys(m *model, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		m.Update(k)
	}
}

func typeText(m *model, text string) {
	for _, r := range text {
		m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// pressAnswer presses a key that answers an ask, and lets the time pass in which text would follow it.
func pressAnswer(m *model, key string) {
	typeText(m, key)
	m.Update(heldMsg{m.asks.presses})
}

// openTestSession shows a session with a prompt, an answer and a call.
func openTestSession(m *model) {
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1", Title: "Replace foo by bar", Agent: "build"}, head: 7,
		messages: api.Page[session.Message]{Data: []session.Message{
			&session.Assistant{
				Head:    session.Head{Time: session.MessageTime{Created: 1, Completed: 2}},
				Content: []session.Content{&session.Text{Text: "Done: \x1b[2Jwide 漢字."}}, Finish: "stop",
			},
			&session.User{Text: "replace foo by bar"},
		}},
		status: api.Status{Type: api.StatusIdle},
	})
}

func editAsk(id string) session.PendingAsk {
	return session.PendingAsk{
		ID: session.AskID(id), SessionID: "ses_1", Action: "edit", Resources: []string{"a.txt"}, Save: []string{"*"},
		Metadata: jsontext.Value(`{"diff":"--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-hello foo\n+hello bar\n"}`),
	}
}

// TestFrames: each screen and dialog fits its terminal, and is as its golden file says.
func TestFrames(t *testing.T) {
	key := func(name rune, mod tea.KeyMod) tea.KeyPressMsg { return tea.KeyPressMsg{Code: name, Mod: mod} }
	screens := map[string]func(*model){
		"start":   func(*model) {},
		"session": openTestSession,
		"typed": func(m *model) {
			openTestSession(m)
			typeText(m, strings.Repeat("a long prompt with 漢字 ", 12))
			m.Update(tea.PasteMsg{Content: strings.Repeat("line\n", 40)})
		},
		"ask": func(m *model) {
			openTestSession(m)
			m.Update(updateOf(&session.PermissionAsked{Ask: editAsk("per_1")}))
		},
		"question": func(m *model) {
			openTestSession(m)
			m.Update(func() tea.Cmd {
				return addAsk(m, session.PendingAsk{ID: "que_1", SessionID: "ses_1", Questions: []session.Question{{
					Question: "Which one?", Options: []session.Option{{Label: "left", Description: "the left one"}, {Label: "right"}},
				}}})
			})
		},
		"palette": func(m *model) { pressKeys(m, key('p', tea.ModCtrl)) },
		"help":    func(m *model) { pressKeys(m, key(tea.KeyF1, 0)) },
		"sessions": func(m *model) {
			m.openDialog(
				sessionPicker(m, []*session.Session{{ID: "ses_1", Title: "One"}, {ID: "ses_2", Title: "T\x1b]0;x"}}, nil),
			)
		},
		"login": func(m *model) {
			m.offers.Models = []api.Model{{ID: "guide", ProviderID: api.GuideProvider}}
			m.openDialog(loginPicker(m, []api.ProviderLogin{
				{ID: "zai", Name: "Z.AI"}, {ID: "openai", Name: "OpenAI", Connected: true},
			}))
		},
		"sidebar": func(m *model) {
			openTestSession(m)
			m.Update(branchMsg{"main"})
			m.session.Todos = []session.Todo{
				{Content: "find every foo", Status: session.TodoCompleted},
				{Content: "replace it, in every file that has one, with bar", Status: session.TodoInProgress},
			}
			m.Update(diffMsg{"ses_1", api.SessionDiff{Data: []session.ChangedFile{
				{Path: "a.txt", Status: "modified", Additions: 12, Deletions: 3},
				{Path: "internal/a/long/path/to/some/file.go", Status: "deleted", Deletions: 120},
			}}})
		},
		"search": showFoundHits,
		"leave":  func(m *model) { openTestSession(m); m.openDialog(leaveChoice(m, 4711)) },
	}
	for name, show := range screens {
		for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 200, Height: 60}, {Width: 20, Height: 6}} {
			file := fmt.Sprintf("%s-%dx%d", name, size.Width, size.Height)
			t.Run(file, func(t *testing.T) {
				m := newTestModel(t, composer.DraftFile{})
				m.Update(size)
				show(m)
				checkFrame(t, m, file)
			})
		}
	}
}

func checkFrame(t *testing.T, m *model, file string) {
	t.Helper()
	frame, cursor := m.renderFrame()
	frame = ansi.Strip(frame)
	lines := strings.Split(frame, "\n")
	if len(lines) > m.height {
		t.Errorf("%d lines on a terminal of %d", len(lines), m.height)
	}
	for _, l := range lines {
		if w := ansi.StringWidth(l); w > m.width || strings.ContainsAny(l, "\x1b\a") {
			t.Errorf("line of %d cells, width %d: %q", w, m.width, l)
		}
	}
	if cursor != nil && (cursor.X >= m.width || cursor.Y >= m.height) {
		t.Errorf("the cursor is at %d, %d", cursor.X, cursor.Y)
	}
	if m.width == 20 {
		return // only that it fits
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got, path := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", file+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%v; the frame is not that of %s (-update writes it):\n%s", err, path, got)
	}
}

// TestKeysBeforeAsk: keys that were typed before an ask was seen belong to the prompt, later ones answer it.
func TestKeysBeforeAsk(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	addAsk(m, editAsk("per_1"))
	addAsk(m, editAsk("per_2"))
	first := m.asks.presses
	typeText(m, "yes")
	m.Update(armMsg{first}) // of a pause that ended before the keys
	typeText(m, "y")
	if m.editor.Text() != "yesy" || len(m.asks.pending) != 2 {
		t.Fatalf("typed %q, %d asks wait; want the keys in the prompt", m.editor.Text(), len(m.asks.pending))
	}
	m.Update(armMsg{m.asks.presses})
	if pressAnswer(m, "y"); m.editor.Text() != "yesyy" || len(m.asks.pending) != 2 {
		t.Fatalf("typed %q, %d asks wait; want the key in the prompt, which has text", m.editor.Text(), len(m.asks.pending))
	}
	m.editor.Clear()
	m.Update(armMsg{m.asks.presses})
	if pressAnswer(m, "y"); m.editor.Text() != "" || len(m.asks.pending) != 1 {
		t.Fatalf("typed %q, %d asks wait; want the key as the answer", m.editor.Text(), len(m.asks.pending))
	}
	pressAnswer(m, "y") // held down: the next ask was not seen yet
	if len(m.asks.pending) != 1 {
		t.Fatal("a key answered an ask that was not seen")
	}
}

// TestEditPatterns: always saves the patterns as they were edited; an emptied one is left out.
func TestEditPatterns(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	var sent []follow.Answer
	a := session.PendingAsk{ID: "per_1", Action: "bash", Resources: []string{"go test ."}, Save: []string{"go *", "ls *"}}
	d := dialog.NewAsk(a, func(x follow.Answer) tea.Cmd { sent = append(sent, x); return nil })
	m.asks.pending, m.asks.dialog, m.asks.armed = []session.PendingAsk{a}, d, true
	back, enter := tea.KeyPressMsg{Code: tea.KeyBackspace}, tea.KeyPressMsg{Code: tea.KeyEnter}
	pressAnswer(m, "s")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyTab}, back)
	typeText(m, "test *")
	pressKeys(m, enter, back, back, back, back, enter)
	if len(sent) > 0 {
		t.Error("the pattern was sent without a confirmation")
	}
	pressKeys(m, enter)
	want := follow.Answer{
		Ask: a, Reply: session.ReplyAlways, Lifetime: session.LifetimeSession, Patterns: []string{"go test *"},
	}
	if diff := cmp.Diff([]follow.Answer{want}, sent); diff != "" {
		t.Error(diff)
	}
}

// TestAnswerLater: a request can be put off; then keys are the composer's until it is shown again.
func TestAnswerLater(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	later := tea.KeyPressMsg{Code: 'a', Mod: tea.ModAlt}
	addAsk(m, editAsk("per_1"))
	m.asks.armDialog(m.asks.presses)
	pressKeys(m, later)
	typeText(m, "y")
	if m.asks.dialog != nil || m.editor.Text() != "y" || !strings.Contains(m.statusLine(), "waits for you") {
		t.Errorf("put off: %q, %q", m.editor.Text(), m.statusLine())
	}
	addAsk(m, editAsk("per_2"))
	if m.asks.dialog != nil {
		t.Error("another request shows those that were put off")
	}
	pressKeys(m, later)
	if m.asks.dialog == nil || m.asks.armed {
		t.Error("the same key does not show them again")
	}
	pressKeys(m, later)
	removeAsk(m, "per_1")
	removeAsk(m, "per_2")
	addAsk(m, editAsk("per_3"))
	if m.asks.dialog == nil {
		t.Error("a request after those that were put off is not shown")
	}
}

// On the smallest screen a request is seen before it takes keys, whatever is typed and waits.
func TestAskOnSmallScreen(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 20, Height: 6})
	openTestSession(m)
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{{ID: "msg_1", Prompt: session.Prompt{Text: "waits"}}}})
	typeText(m, strings.Repeat("typed ", 20))
	addAsk(m, editAsk("per_1"))
	frame, _ := m.renderFrame()
	if n := strings.Count(frame, "\n") + 1; n != 6 || !strings.Contains(frame, "edit: a.txt") ||
		!strings.Contains(frame, "> y  yes") {
		t.Errorf("%d lines:\n%s", n, frame)
	}
}

// Only the wheel's own directions scroll: a swipe to the side does not.
func TestWheelScrolls(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 6})
	openTestSession(m)
	for i := range 9 {
		m.transcript.AddNote(fmt.Sprint(i))
	}
	end, _ := m.renderFrame()
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	above, _ := m.renderFrame()
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelLeft})
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelRight})
	if frame, _ := m.renderFrame(); frame != above || above == end {
		t.Errorf("after the wheel\n%s\nafter a swipe\n%s", above, frame)
	}
	m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if frame, _ := m.renderFrame(); frame != end {
		t.Errorf("after the wheel back\n%s", frame)
	}
}

// TestNextAgent: Tab goes through the main agents, unless it completes a word.
func TestNextAgent(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.offers.Agents = []session.Agent{
		{ID: "build"}, {ID: "explore", Mode: session.ModeSubagent}, {ID: "plan"}, {ID: "title", Hidden: true},
	}
	var got []string
	for range 3 {
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyTab})
		got = append(got, m.agentName())
	}
	if strings.Join(got, " ") != "plan build plan" {
		t.Error(got)
	}
}

// TestCommandIsAskedOnce: yes to a file of a command is yes to the command of the same call, and to no other.
func TestCommandIsAskedOnce(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	ask := func(id, action, part string) session.PendingAsk {
		return session.PendingAsk{
			ID: session.AskID(id), SessionID: "ses_1", Action: action, Resources: []string{"x"},
			Metadata: jsontext.Value(`{"command":"echo > x"}`), Source: &session.AskSource{PartID: session.PartID(part)},
		}
	}
	addAsk(m, ask("per_1", "edit", "prt_1"))
	m.asks.armed = true
	pressAnswer(m, "y")
	addAsk(m, ask("per_2", "bash", "prt_1"))
	if len(m.asks.pending) != 0 {
		t.Error("the command is asked for again")
	}
	addAsk(m, ask("per_3", "bash", "prt_2"))
	if len(m.asks.pending) != 1 {
		t.Error("the command of another call is not asked for")
	}
}

// TestTypedTextIsKept: a prompt that no server took is in the composer again, and typed text in the next start.
func TestTypedTextIsKept(t *testing.T) {
	file := composer.NewDraftFile(filepath.Join(t.TempDir(), "tui", "draft.json"))
	m := newTestModel(t, file)
	openTestSession(m)
	typeText(m, "first")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	typeText(m, "second")
	m.Update(saveMsg{})
	if next := newTestModel(t, file); next.editor.Text() != "first\nsecond" {
		t.Errorf("a kill before the answer keeps %q", next.editor.Text())
	}
	m.Update(promptedMsg{prompt: m.unsentPrompts[0], err: errors.New("gone")})
	if got := m.editor.Text(); got != "first\nsecond" {
		t.Errorf("the composer has %q", got)
	}
}

// TestCutOff: a session whose work was cut off, and that no process continues, says so.
func TestCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		message session.Message
		status  string
		want    bool
	}{
		"in an answer":          {&session.Assistant{}, api.StatusIdle, true},
		"before the answer":     {&session.User{Text: "Fix it"}, api.StatusIdle, true},
		"another process works": {&session.Assistant{}, "busy", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestModel(t, composer.DraftFile{})
			m.Update(openedMsg{
				session: &session.Session{ID: "ses_1"}, status: api.Status{Type: c.status},
				messages: api.Page[session.Message]{Data: []session.Message{c.message}},
			})
			if got := strings.Contains(ansi.Strip(m.transcriptView()), "cut off"); got != c.want {
				t.Errorf("the transcript says so: %v, want %v", got, c.want)
			}
		})
	}
}

// TestTypedInDialogs: text of several lines is one row of a dialog, and the end of long text is visible.
func TestTypedInDialogs(t *testing.T) {
	dialogs := map[string]func(*model){
		"edit a prompt that waits": func(m *model) {
			editInput(m, &session.Input{ID: "msg_1", Prompt: session.Prompt{Text: "first\nsecond"}})
		},
		"words of a rejection": func(m *model) {
			addAsk(m, editAsk("per_1"))
			m.asks.armed = true
			pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
		},
		"own answer": func(m *model) {
			addAsk(m, session.PendingAsk{ID: "que_1", SessionID: "ses_1", Questions: []session.Question{{Question: "Which?"}}})
			m.asks.armed = true
		},
	}
	for name, show := range dialogs {
		t.Run(name, func(t *testing.T) {
			m := newTestModel(t, composer.DraftFile{})
			m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			openTestSession(m)
			show(m)
			m.Update(tea.PasteMsg{Content: "one\ntwo\n" + strings.Repeat("漢字", 40)})
			typeText(m, "END")
			frame, _ := m.renderFrame()
			if n := strings.Count(frame, "\n") + 1; n != 24 || !strings.Contains(frame, "END") {
				t.Errorf("%d lines:\n%s", n, frame)
			}
		})
	}
}

// TestDiscardedText: the first Ctrl-C takes the typed text away, an undo brings it back.
func TestDiscardedText(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	typeText(m, "a long prompt")
	pressKeys(m, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if m.editor.Text() != "" {
		t.Errorf("the composer holds %q", m.editor.Text())
	}
	if pressKeys(m, tea.KeyPressMsg{Code: '_', Mod: tea.ModCtrl}); m.editor.Text() != "a long prompt" {
		t.Errorf("after the undo: %q", m.editor.Text())
	}
}

// TestSearchEarlier: a search reads earlier pages until one has the text, and says where the search ends.
func TestSearchEarlier(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.olderCursor.Next = "1"
	reads := 0
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { reads++; return nil }
	findText(m, "needle")
	for i := range 3 {
		if reads != i+1 || m.transcript.SelectedMessage() != "" {
			t.Fatalf("%d reads after %d pages, selected %q", reads, i, m.transcript.SelectedMessage())
		}
		page := api.Page[session.Message]{Data: make([]session.Message, pageSize), Cursor: api.Cursor{Next: "more"}}
		for j := range page.Data {
			page.Data[j] = &session.User{Text: "hay"}
		}
		if i == 2 {
			page.Data[7] = &session.User{Head: session.Head{ID: "msg_needle"}, Text: "a needle"}
		}
		m.Update(olderMsg{id: "ses_1", cursor: m.olderCursor.Next, page: page})
	}
	if m.transcript.SelectedMessage() != "msg_needle" || reads != 3 || m.seek != nil {
		t.Errorf("selected %q after %d reads", m.transcript.SelectedMessage(), reads)
	}
	findText(m, "needle") // above it
	m.Update(olderMsg{id: "ses_1", cursor: m.olderCursor.Next})
	if m.transcript.SelectedMessage() != "msg_needle" || reads != 4 || m.note != "1 hit; search again for the next one" {
		t.Errorf("at the beginning: selected %q after %d reads, %q", m.transcript.SelectedMessage(), reads, m.note)
	}
	findText(m, "pin")
	m.Update(olderMsg{id: "ses_1", cursor: m.olderCursor.Next})
	if m.note != "nothing found" {
		t.Errorf("a search without a hit says %q", m.note)
	}
}

// TestLostConnection: the status line says that the connection is lost. When it is restored the session is read again,
// also if nothing happens in it.
func TestLostConnection(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	calls := 0
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { calls++; return nil }
	m.Update(feed.Updates{ID: "ses_1", List: []follow.Update{{Lost: api.ErrEnded}}})
	if line := ansi.Strip(m.statusLine()); !strings.HasPrefix(line, "reconnecting") || calls != 0 {
		t.Errorf("the status line is %q after %d calls", line, calls)
	}
	m.Update(feed.Updates{ID: "ses_1", List: []follow.Update{{Found: true}}})
	if line := ansi.Strip(m.statusLine()); strings.HasPrefix(line, "reconnecting") || calls != 1 ||
		m.note != "connected again" {
		t.Errorf("the status line is %q, the note %q, after %d calls", line, m.note, calls)
	}
}

// updateOf returns an update with an event of the session on the screen.
func updateOf(d session.EventData) feed.Updates {
	return feed.Updates{ID: "ses_1", List: []follow.Update{{Event: &session.Event{Seq: 8, Data: d}}}}
}

// TestPromptIsRepeated: a prompt that no server answered is sent again, with the ids that it had.
func TestPromptIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newTestModel(t, composer.DraftFile{})
		var bodies []string
		server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			bodies = append(bodies, string(b))
			if len(bodies) == 2 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"data": {"id": "ses_1"}}`)
		})
		m.api = &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(server)}}
		m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
			return func() tea.Msg { return f(t.Context()) }
		}
		msg, ok := sendPrompt(m, session.Prompt{Text: "hi"}, false)().(promptedMsg)
		if !ok || msg.err != nil || len(bodies) != 3 || bodies[1] != bodies[2] || !strings.Contains(bodies[2], "msg_") {
			t.Errorf("%v; requests %q", msg.err, bodies)
		}
	})
}

// TestServerIsGone: an error of the connection is shown with its cause, not with the request.
func TestServerIsGone(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.showError("the prompt was not sent", &api.TransportError{Op: "POST /api/session", Err: syscall.ECONNREFUSED})
	if want := "the prompt was not sent: the server does not answer: connection refused"; m.note != want {
		t.Errorf("the note is %q, want %q", m.note, want)
	}
}

// TestOwnKeys: a configured key wins over a default one, and an unknown command is named.
func TestOwnKeys(t *testing.T) {
	k, unknown := newKeyMap(map[string]string{"undo": "ctrl+s", "help": "none", "fly": "f9"})
	if c := k.commands[k.byKey["ctrl+s"]]; c.name != "undo" {
		t.Errorf("ctrl+s is %q", c.name)
	}
	if _, ok := k.byKey["f1"]; ok || len(unknown) != 1 || !strings.HasSuffix(unknown[0], " fly") {
		t.Errorf("f1 is bound: %v, unknown %q", ok, unknown)
	}
}

// TestThemes: each theme renders text that has styles, NO_COLOR leaves no colour, and other names are refused.
func TestThemes(t *testing.T) {
	for _, name := range append(style.ListNames(), "") {
		for _, no := range []string{"", "1"} {
			th, err := style.New(name, func(string) string { return no })
			if err != nil {
				t.Fatal(err)
			}
			colour := strings.Contains(th.Added.Render("x")+th.Removed.Render("x"), "3")
			if colour == (no != "") {
				t.Errorf("theme %q, NO_COLOR %q: %q", name, no, th.Added.Render("x"))
			}
		}
	}
	if _, err := style.New("pink", func(string) string { return "" }); err == nil {
		t.Error("an unknown theme is accepted")
	}
}

// TestNewSessionsAreInTheSandbox: a session begins in the sandbox of the interface, also with a !command.
func TestNewSessionsAreInTheSandbox(t *testing.T) {
	for _, text := range []string{"a prompt", "!ls"} {
		m := newTestModel(t, composer.DraftFile{})
		m.options.Sandbox = session.SandboxStrict
		var body string
		record := func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			body = r.Method + " " + r.URL.Path + " " + string(b)
			w.WriteHeader(http.StatusForbidden)
		}
		m.api.HTTP, m.api.Base = &http.Client{Transport: api.Local(http.HandlerFunc(record))}, "http://localhost"
		m.run = func(f func(context.Context) tea.Msg) tea.Cmd { f(t.Context()); return nil }
		typeText(m, text)
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		if !strings.HasPrefix(body, "POST /api/session ") || !strings.Contains(body, `"sandbox":"strict"`) {
			t.Errorf("%s: the first request is %s", text, body)
		}
	}
}

// TestLogin: a newcomer is shown the providers, unless a prompt is typed; the key of the chosen one is stored and not
// shown, and then its models are.
func TestLogin(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	var stored string
	models := `{"id":"guide","providerID":"cairn"}`
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := `{"data":[]}`
		switch r.URL.Path {
		case "/provider":
			out = `{"all":[{"id":"openai","name":"OpenAI"}],"connected":[]}`
		case "/provider/auth":
			out = `{"openai":[{"type":"api","label":"API key"}]}`
		case "/auth/openai":
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			stored, models, out = string(b), `{"id":"gpt","providerID":"openai"}`, "true"
		case "/api/model":
			out = `{"data":[` + models + `]}`
		}
		_, _ = io.WriteString(w, out)
	})
	m.api = &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(server)}}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg { return f(t.Context()) }
	}
	run := func(cmd tea.Cmd) {
		for cmd != nil {
			_, cmd = m.Update(cmd())
		}
	}
	typeText(m, "x")
	run(readOffers(m))
	if len(m.dialogs) != 0 {
		t.Fatal("a dialog opened over a typed prompt")
	}
	backspace := tea.KeyPressMsg{Code: tea.KeyBackspace}
	pressKeys(m, backspace)
	_, cmd := m.Update(readOffers(m)())
	list := cmd()
	typeText(m, "x")
	if m.Update(list); len(m.dialogs) != 0 {
		t.Fatal("a dialog opened over a prompt that was typed while the providers were read")
	}
	pressKeys(m, backspace)
	m.offeredLogin = false
	run(readOffers(m))
	enter := tea.KeyPressMsg{Code: tea.KeyEnter}
	pressKeys(m, enter)
	typeText(m, "sk-secret")
	if frame, _ := m.renderFrame(); strings.Contains(frame, "secret") || !strings.Contains(frame, "*********") {
		t.Errorf("the key is not hidden:\n%s", frame)
	}
	_, cmd = m.Update(enter)
	run(cmd)
	if want := `{"key":"sk-secret","type":"api"}`; stored != want {
		t.Errorf("stored %s, want %s", stored, want)
	}
	pressKeys(m, enter)
	if m.model == nil || m.model.String() != "openai/gpt" {
		t.Errorf("the model is %v after the login", m.model)
	}
}

// TestLoginWithCode: each method of a provider is offered, and a login asks for the code of its page.
func TestLoginWithCode(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	var said []string
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := `{"data":[]}`
		if strings.Contains(r.URL.Path, "/oauth/") {
			b, _ := io.ReadAll(r.Body)
			said = append(said, r.URL.Path+" "+string(b))
			out = "true"
		}
		if strings.HasSuffix(r.URL.Path, "/authorize") {
			out = `{"url":"https://acme.example/login","method":"code","instructions":"Copy the code"}`
		}
		_, _ = io.WriteString(w, out)
	})
	m.api = &api.Client{Base: "http://localhost", HTTP: &http.Client{Transport: api.Local(server)}}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		return func() tea.Msg { return f(t.Context()) }
	}
	beginLogin(m, api.ProviderLogin{ID: "acme", Methods: []api.LoginMethod{
		{Type: "api", Label: "Key"}, {Type: "oauth", Label: "By itself"}, {Type: "oauth", Label: "With a code"},
	}})
	frame, _ := m.renderFrame()
	for _, label := range []string{"Key", "By itself", "With a code"} {
		if !strings.Contains(frame, label) {
			t.Errorf("%q is not offered:\n%s", label, frame)
		}
	}
	_, cmd := m.Update(tea.KeyPressMsg{Code: '3', Text: "3"})
	m.Update(cmd())
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "https://acme.example/login") || !strings.Contains(frame, "Copy the code") {
		t.Errorf("the page is not shown:\n%s", frame)
	}
	typeText(m, "right")
	_, cmd = m.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(cmd())
	want := []string{
		`/provider/acme/oauth/authorize {"method":2}`, `/provider/acme/oauth/callback {"code":"right","method":2}`,
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

// TestAgentOfPromptStays: the agent and the model that a prompt named are those of the next one.
func TestAgentOfPromptStays(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	ref := session.ModelRef{ProviderID: "a", ID: "b"}
	prompt := session.Prompt{Text: "go on", Agent: "plan", Model: &ref}
	applyEvent(m, session.Event{SessionID: m.session.ID, Seq: 9, Data: &session.Prompted{Prompt: prompt}})
	if m.agentName() != "plan" || m.modelName() != "a/b" {
		t.Errorf("agent %s, model %s", m.agentName(), m.modelName())
	}
}

// TestLossWithoutSession: the status line says that the server is gone also before a session is opened.
func TestLossWithoutSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(feed.Loss(true))
	lost := m.statusLine()
	m.Update(feed.Loss(false))
	if !strings.Contains(lost, "reconnecting") || !strings.Contains(m.statusLine(), "ready") {
		t.Errorf("%q, then %q", lost, m.statusLine())
	}
}

// TestTree: the tree has the session's forks and children, and begins at the session on the screen.
func TestTree(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.options.List = func(context.Context, *api.Client, api.SessionQuery, int) ([]*session.Session, error) {
		return []*session.Session{
			{ID: "ses_0", Title: "Origin"}, {ID: "ses_2", Title: "Explore", ParentID: "ses_1"}, {ID: "ses_3", Title: "Other"},
		}, nil
	}
	m.session.Fork = &session.Fork{From: "ses_0"}
	answerCalls(t, m, nil)
	pickRelative(m)
	frame, _ := m.renderFrame()
	for _, want := range []string{"\n  Origin ", "\n> └─ fork Replace foo by bar ", "\n     └─ Explore "} {
		if !strings.Contains(ansi.Strip(frame), want) {
			t.Errorf("%q is missing in\n%s", want, frame)
		}
	}
	if strings.Contains(frame, "Other") {
		t.Error("another session is in the tree")
	}
}

// TestRenameWithTitle: the words after /rename are the title.
func TestRenameWithTitle(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	calls := 0
	typeText(m, "/rename A new title")
	m.run = func(func(context.Context) tea.Msg) tea.Cmd { calls++; return nil }
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if calls != 1 || len(m.dialogs) != 0 || !m.editor.IsEmpty() {
		t.Errorf("%d calls, %d dialogs, %q", calls, len(m.dialogs), m.editor.Text())
	}
}

// TestOfferedProvidersKeepText: a prompt that was typed into the list of providers, which opened by itself, comes into
// the composer when the list is closed.
func TestOfferedProvidersKeepText(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.offers.Models = []api.Model{{ID: api.GuideModel, ProviderID: api.GuideProvider}}
	m.openDialog(loginPicker(m, []api.ProviderLogin{{ID: "openai"}}))
	typeText(m, "fix it")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
	if m.editor.Text() != "fix it" || len(m.dialogs) != 0 {
		t.Errorf("%q, %d dialogs", m.editor.Text(), len(m.dialogs))
	}
}

// TestTerminalWithoutUTF8: the signs of the interface are ASCII there.
func TestTerminalWithoutUTF8(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.ascii = true
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 30})
	m.Update(openedMsg{
		session: &session.Session{ID: "ses_1", Title: strings.Repeat("long ", 50)},
		messages: api.Page[session.Message]{Data: []session.Message{
			&session.Assistant{Content: []session.Content{
				&session.Text{Text: "- [x] done\n- more\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"},
			}},
		}},
	})
	m.Update(branchMsg{"main"})
	var out strings.Builder
	m.screen = screen.New(&out, nil, false)
	m.screen.Resize(200, 30)
	m.View()
	frame := out.String()
	if i := strings.IndexFunc(frame, func(r rune) bool { return r > unicode.MaxASCII }); i >= 0 {
		t.Errorf("the frame has %q:\n%s", frame[i:i+4], frame)
	}
	if want := "x done"; !strings.Contains(ansi.Strip(frame), want) {
		t.Errorf("want %q in:\n%s", want, frame)
	}
}

// TestShellIsWork: a command of the user is work that can be interrupted, and that leaving asks about.
func TestShellIsWork(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.Update(updateOf(&session.ShellStarted{MessageID: "msg_1", CallID: "c", Command: "sleep 20"}))
	if !m.working {
		t.Error("the session is shown as ready")
	}
}

// TestNoteBesideDialog: a note is visible while a dialog covers the session, such as the failure of what it does.
func TestNoteBesideDialog(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	showHelp(m)
	m.showError("archive the session", errors.New("it is gone; "+strings.Repeat("next step ", 10)+"end"))
	frame, _ := m.renderFrame()
	if n := strings.Count(frame, "\n") + 1; n != 24 || !strings.Contains(frame, "archive the session: it is gone") ||
		!strings.Contains(frame, "step end") {
		t.Errorf("%d lines:\n%s", n, frame)
	}
}

// TestPromptsThatWait: the line of a prompt that waits says whether the model gets it with its next request.
func TestPromptsThatWait(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{
		{ID: "msg_1", Delivery: session.Steer, Prompt: session.Prompt{Text: "one"}},
		{ID: "msg_2", Delivery: session.Queue, Prompt: session.Prompt{Text: "two"}},
	}})
	if frame, _ := m.renderFrame(); !strings.Contains(ansi.Strip(frame), "next: one\nqueued: two\n") {
		t.Error(frame)
	}
}

// answerCalls has the calls of the API answered at once.
func answerCalls(t *testing.T, m *model, answer http.HandlerFunc) {
	m.api.HTTP, m.api.Base = &http.Client{Transport: api.Local(answer)}, "http://localhost"
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		m.Update(f(t.Context()))
		return nil
	}
}

// TestUndoNamesSelection: undo says whether it goes back to the newest prompt or to the selected one.
func TestUndoNamesSelection(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"messageID": "msg_1"}}`)
	})
	for _, want := range []string{"newest", "this prompt"} {
		previewUndo(m)
		if d, ok := m.dialogs[len(m.dialogs)-1].(*dialog.Choice); !ok || !strings.Contains(d.Title, want) {
			t.Errorf("the dialog %+v does not name the %s prompt", m.dialogs, want)
		}
		m.transcript.SetMessages([]session.Message{&session.User{Head: session.Head{ID: "msg_1"}, Text: "one"}}, nil)
		m.transcript.Select(-1)
	}
}

// TestAsksThatWaitAlready: an ask of another session is on the screen, also if it is older than what the screen shows.
func TestAsksThatWaitAlready(t *testing.T) {
	for name, show := range map[string]func(*model){
		"start":           func(m *model) { m.Init() },
		"new session":     func(m *model) { beginSession(m) },
		"another session": openTestSession,
	} {
		t.Run(name, func(t *testing.T) {
			m := newTestModel(t, composer.DraftFile{})
			answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				data := "[]"
				if strings.HasSuffix(r.URL.Path, "/permission/request") {
					data = `[{"id": "per_1", "sessionID": "ses_2", "action": "bash", "resources": ["ls"]}]`
				}
				_, _ = io.WriteString(w, `{"data": `+data+`}`)
			})
			show(m)
			if d, ok := m.asks.dialog.(*dialog.Ask); !ok || d.From != "ses_2" {
				t.Errorf("the dialog is %+v", m.asks.dialog)
			}
		})
	}
}

// TestTakePromptBack: the list of prompts that wait names all its keys, and a prompt that is taken back does not
// replace the text that is typed.
func TestTakePromptBack(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	typeText(m, "typed")
	m.Update(inboxMsg{id: "ses_1", inbox: []*session.Input{{ID: "msg_1", Prompt: session.Prompt{Text: "waits"}}}})
	pickInbox(m)
	frame, _ := m.renderFrame()
	for _, want := range []string{"take back", "ctrl+d: withdraw", "esc: close"} {
		if !strings.Contains(frame, want) {
			t.Errorf("%q is missing in\n%s", want, frame)
		}
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	if got := m.editor.Text(); got != "waits\ntyped" {
		t.Errorf("the composer has %q", got)
	}
}

// TestContextOfUnknownWindow: the view of the context has no share of a window that is not known.
func TestContextOfUnknownWindow(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	answerCalls(t, m, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data": {"tokens": 4720}}`)
	})
	showContext(m)
	if frame, _ := m.renderFrame(); strings.Contains(frame, "of 0") || !strings.Contains(frame, "4,720 tokens") {
		t.Error(frame)
	}
}

// TestChoiceIsKept: the model and the agent that were chosen for a prompt are those of the next attempt to send it.
func TestChoiceIsKept(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	m.agent, m.model = "plan", &session.ModelRef{ProviderID: "a", ID: "b"}
	typeText(m, "first")
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
	m.Update(promptedMsg{prompt: m.unsentPrompts[0], err: errors.New("gone")})
	if m.agentName() != "plan" || m.modelName() != "a/b" {
		t.Errorf("the next prompt is for %s, %s", m.agentName(), m.modelName())
	}
}

// TestHelpFits: each key has one line of help on a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	showHelp(m)
	for _, line := range m.dialogs[0].(*dialog.Text).Body {
		if ansi.StringWidth(line) > 80 {
			t.Errorf("%q is too wide", line)
		}
	}
}

// TestEndOfText: the key End shows the end of a text whose lines are wrapped.
func TestEndOfText(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 10})
	m.openDialog(&dialog.Text{Body: []string{strings.Repeat("word ", 200), "THE END"}})
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnd})
	if frame, _ := m.renderFrame(); !strings.Contains(frame, "THE END") {
		t.Error(frame)
	}
}

// TestCommandsWithoutSession: a command that needs a session says so while none is open.
func TestCommandsWithoutSession(t *testing.T) {
	for _, name := range []string{"undo", "redo", "fork", "changes", "compact", "context", "jobs", "todos", "rename"} {
		m := newTestModel(t, composer.DraftFile{})
		if runSlash(m, name, ""); m.note == "" {
			t.Errorf("/%s says nothing", name)
		}
	}
}
