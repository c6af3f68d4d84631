package tui

import (
	"io"
	"net/http"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/dialog"
	"github.com/cairn-dev/cairn/internal/tui/mention"
)

// TestForeignCommands: a command of a similar program says what to use instead, and is not sent; one that the directory
// has is run.
func TestForeignCommands(t *testing.T) {
	for name, want := range map[string]string{
		"vim": "terminal.vi", "memory": "# TEXT", "logout": "cairn auth logout",
	} {
		m := newTestModel(t, composer.DraftFile{})
		openTestSession(m)
		typeText(m, "/"+name)
		m.completion = mention.List{}
		submitText(m, false)
		if !strings.Contains(m.note, want) || m.editor.Text() != "/"+name {
			t.Errorf("/%s: note %q, text %q", name, m.note, m.editor.Text())
		}
		m.offers.Commands = []api.Command{{Name: name}}
		if submitText(m, false); !m.editor.IsEmpty() {
			t.Errorf("/%s of the directory is not run", name)
		}
	}
}

// TestThemeWord: /theme takes the name of a theme, and names them for another word.
func TestThemeWord(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.editor.SetText("/theme light")
	if submitText(m, false); m.themeName != "light" || !m.editor.IsEmpty() {
		t.Errorf("theme %q, text %q", m.themeName, m.editor.Text())
	}
	m.editor.SetText("/theme pink")
	if submitText(m, false); m.themeName != "light" || m.note != "the themes are terminal, dark, light, contrast" {
		t.Errorf("theme %q, note %q", m.themeName, m.note)
	}
}

// TestEscapeWithText: Escape twice above typed text says why the timeline does not open.
func TestEscapeWithText(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	typeText(m, "draft")
	pressEscape(m)
	pressEscape(m)
	if len(m.dialogs) != 0 || m.note != "the timeline opens on an empty composer; alt+w puts the text away" {
		t.Errorf("%d dialogs, note %q", len(m.dialogs), m.note)
	}
}

// TestKeysBehindAsk: the key of a command does nothing while an ask is open, and says so; that of a subagent opens the
// session that asks.
func TestKeysBehindAsk(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	openTestSession(m)
	var opened []string
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		opened = append(opened, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	a := editAsk("per_1")
	a.SessionID = "ses_2"
	addAsk(m, a)
	m.Update(armMsg{m.asks.presses})
	pressKeys(m, tea.KeyPressMsg{Code: 's', Mod: tea.ModCtrl})
	if m.note != "sessions waits for your answer; alt+a puts the request off" || len(m.dialogs) != 0 {
		t.Errorf("note %q, %d dialogs", m.note, len(m.dialogs))
	}
	opened = nil
	if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyF3}); len(opened) == 0 || opened[0] != "/api/session/ses_2" {
		t.Errorf("opened %q", opened)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyF1})
	if d, ok := m.dialogs[len(m.dialogs)-1].(*dialog.Text); len(m.dialogs) != 1 || !ok || d.Title != "Keys" {
		t.Errorf("F1 opens %+v", m.dialogs)
	}
	pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEscape})
	if len(m.dialogs) != 0 || len(m.asks.pending) != 1 || m.asks.dialog == nil || m.asks.armed {
		t.Errorf("after the help %d dialogs, the asks are %+v", len(m.dialogs), m.asks)
	}
}

// TestEditorKeepsText: a text stays in the composer if the editor cannot be started, also behind /editor.
func TestEditorKeepsText(t *testing.T) {
	for typed, open := range map[string]tea.KeyPressMsg{
		"/editor": {Code: tea.KeyEnter}, "/editor fix it": {Code: tea.KeyEnter}, "fix it": {Code: 'o', Mod: tea.ModCtrl},
	} {
		m := newTestModel(t, composer.DraftFile{})
		m.options.Env = func(string) string { return "no-such-editor" }
		typeText(m, typed)
		if pressKeys(m, open); strings.TrimSpace(m.editor.Text()) != typed || !strings.Contains(m.note, "no-such-editor is not found") {
			t.Errorf("%s: the composer has %q, the note is %q", typed, m.editor.Text(), m.note)
		}
	}
}

// TestStatusNamesDirectory: the status line of a session of another directory has the directory and its branch.
func TestStatusNamesDirectory(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.options.Client.Directory, m.branch = "/src/project", "topic"
	openTestSession(m)
	m.session.Location.Directory = "/src/project/lib"
	m.width = 60
	if got := ansi.Strip(m.statusLine()); !strings.Contains(got, "in lib/ topic") {
		t.Errorf("got %q", got)
	}
	m.session.Location.Directory = "/src/project"
	if got := ansi.Strip(m.statusLine()); strings.Contains(got, " in ") {
		t.Errorf("got %q", got)
	}
}

// TestTimelineIsRenewed: an open timeline loses the prompts that another client takes back.
func TestTimelineIsRenewed(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	messages := `{"id": "msg_2", "type": "user", "text": "two", "time": {"created": 2}},
		{"id": "msg_1", "type": "user", "text": "one", "time": {"created": 1}}`
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/message") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, `{"data": [`+messages+`], "cursor": {}}`)
	})
	pickPrompt(m)
	p, ok := m.dialogs[0].(*dialog.Picker)
	if !ok || len(p.Items) != 2 {
		t.Fatalf("the dialogs are %+v", m.dialogs)
	}
	m.Update(updateOf(&session.RevertStaged{Revert: session.Revert{MessageID: "msg_2", Exclusive: true}}))
	if len(p.Items) != 1 || p.Items[0].ID != "msg_1" {
		t.Errorf("the timeline has %+v", p.Items)
	}
}

// TestTimelineNamesReports: the report of a background subagent is named as one, without its markup.
func TestTimelineNamesReports(t *testing.T) {
	p := timelinePicker(newTestModel(t, composer.DraftFile{}), "ses_1", []*session.User{{
		Text:  "<task id=\"ses_2\" state=\"error\">\n<task_error>\nno key\n</task_error>\n</task>",
		Parts: []session.PromptPart{{Type: session.PartText, Extra: jsontext.Value(`{"synthetic":true}`)}},
	}})
	if got := p.Items[0].Label; got != "the subagent ses_2 failed: no key" {
		t.Errorf("got %q", got)
	}
}

// TestRefusedModelLeavesNoSession: a first prompt that the server refuses leaves no session behind.
func TestRefusedModelLeavesNoSession(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.model = &session.ModelRef{ProviderID: "nosuch", ID: "x"}
	var calls []string
	answerCalls(t, m, func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):])
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case strings.HasSuffix(r.URL.Path, "/prompt"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"_tag": "InvalidRequestError", "message": "model nosuch/x not found"}`)
		default:
			_, _ = io.WriteString(w, `{"data": {"id": "ses_9"}}`)
		}
	})
	m.editor.SetText("two words")
	submitText(m, false)
	if got := strings.Join(calls, " "); !strings.HasSuffix(got, "DELETE /ses_9") || m.session != nil {
		t.Errorf("calls %q, session %+v", got, m.session)
	}
	if m.editor.Text() != "two words" || !strings.Contains(m.note, "nosuch") {
		t.Errorf("text %q, note %q", m.editor.Text(), m.note)
	}
}
