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

// factsModel is a model of a session whose server answers the paths, and notes the requests that change something.
func factsModel(t *testing.T, bodies map[string]string) (*model, *[]string) {
	t.Helper()
	m := newTestModel(t, composer.DraftFile{})
	openTestSession(m)
	changes := []string{}
	handle := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			changes = append(changes, r.Method+" "+r.URL.Path)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body)) // of a test
	}
	m.api = &api.Client{HTTP: &http.Client{Transport: api.Local(http.HandlerFunc(handle))}, Base: "http://localhost"}
	m.run = func(f func(context.Context) tea.Msg) tea.Cmd {
		if msg := f(t.Context()); msg != nil {
			m.Update(msg)
		}
		return nil
	}
	m.wait = m.run
	return m, &changes
}

const testLocation = `{"directory":"/w","project":{"id":"global","directory":"/"}}`

// TestFactDialogs: each command of facts shows what the API knows, or says why it cannot.
func TestFactDialogs(t *testing.T) {
	bodies := map[string]string{
		"/api/health": `{"healthy":true,"version":"1.2.3","pid":77}`,
		"/api/stats":  `{"data":{"sessions":3,"turns":9,"models":[{"model":{"id":"m","providerID":"p"},"turns":9}]}}`,
		"/api/doctor": `{"data":[{"level":"warning","what":"store","detail":"large","fix":"cairn backup"}]}`,
		"/api/mcp": `{"location":{},"data":[{"name":"github","status":{"status":"needs_auth","error":"cairn mcp auth github"},` +
			`"source":"https://mcp.example"},{"name":"notes","status":{"status":"connected"},"source":"notes",` +
			`"tools":[{"name":"notes_add","remote":"add","description":"Adds.","readOnlyHint":true}],"prompts":["notes:hi"]}]}`,
	}
	for command, want := range map[string][]string{
		"status": {"Replace foo by bar", "1.2.3, process 77", "build"},
		"stats":  {"3 sessions, 9 turns", "p/m"},
		"cost":   {"Cost of this session"},
		"doctor": {"! store: large", "cairn backup"},
		"mcp":    {"github needs_auth: cairn mcp auth github", "notes connected", "notes_add (says that it only reads): Adds."},
	} {
		m, _ := factsModel(t, bodies)
		typeText(m, "/"+command+" ")
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		frame, _ := m.renderFrame()
		for _, w := range want {
			if !strings.Contains(ansi.Strip(frame), w) {
				t.Errorf("/%s does not show %q:\n%s", command, w, frame)
			}
		}
		m, _ = factsModel(t, nil)
		typeText(m, "/"+command+" ")
		if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}); m.note == "" && command != "cost" {
			t.Errorf("/%s says nothing without an answer", command)
		}
	}
}

// TestRevokePermission: a saved permission is revoked after y and Enter; a sentence revokes nothing.
func TestRevokePermission(t *testing.T) {
	bodies := map[string]string{
		"/api/location":         testLocation,
		"/api/permission/saved": `{"data":[{"id":"psv_1","projectID":"global","action":"bash","resource":"git push *","lifetime":"project"}]}`,
	}
	for typed, want := range map[string]int{"y": 1, "yes please": 0, "n": 0, "": 0} {
		m, changes := factsModel(t, bodies)
		pickApproval(m)
		if len(m.dialogs) != 1 {
			t.Fatalf("no list: %s", m.note)
		}
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		typeText(m, typed)
		m.editor.DiscardText() // of a sentence, which Enter would send
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		if len(*changes) != want {
			t.Errorf("%q revokes: %q", typed, *changes)
		}
	}
}

// TestTrustDialog: Enter trusts what is shown; text does not, and on another machine nothing is shown.
func TestTrustDialog(t *testing.T) {
	trusted := 0
	for typed, want := range map[string]int{"": 1, "y": 0, " ": 0} {
		m, _ := factsModel(t, nil)
		m.options.ReadTrust = func(context.Context) (Trust, error) {
			return Trust{Body: []string{"command/review.md"}, Accept: func(context.Context) error { trusted++; return nil }}, nil
		}
		trusted = 0
		showTrust(m)
		if frame, _ := m.renderFrame(); !strings.Contains(frame, "command/review.md") || !strings.Contains(frame, "enter: trust") {
			t.Errorf("the dialog is\n%s", frame)
		}
		typeText(m, typed)
		m.editor.DiscardText()
		if pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter}); trusted != want {
			t.Errorf("%q and Enter trust %d times", typed, trusted)
		}
	}
	m, _ := factsModel(t, nil)
	if showTrust(m); !strings.Contains(m.note, "server's machine") || len(m.dialogs) != 0 {
		t.Errorf("without the machine's trust: %q", m.note)
	}
}

// TestExportSession: the session is written as Markdown or JSON without secrets, and never over an existing file.
func TestExportSession(t *testing.T) {
	m, _ := factsModel(t, map[string]string{
		"/api/session/ses_1/message": `{"data":[{"type":"user","id":"msg_1","text":"use hunter2-secret-value","time":{"created":1}}],"cursor":{}}`,
	})
	m.options.Secrets = func(context.Context) ([]string, error) { return []string{"hunter2-secret-value"}, nil }
	dir := t.TempDir()
	for _, name := range []string{"a.md", "a.json"} {
		path := filepath.Join(dir, name)
		typeText(m, "/export "+path)
		pressKeys(m, tea.KeyPressMsg{Code: tea.KeyEnter})
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "use ") || strings.Contains(string(b), "hunter2") {
			t.Errorf("%s: %v, note %q\n%s", name, err, m.note, b)
		}
		if want := "written to " + path; !strings.HasPrefix(m.note, want) {
			t.Errorf("%s: the note is %q", name, m.note)
		}
		if exportSession(m, path); !strings.Contains(m.note, "exists") {
			t.Errorf("%s again: %q", name, m.note)
		}
		m.editor.Clear() // the command came back
	}
}

// TestProcessNote: a note of the process, which has the mark of a terminal's line, is shown with one mark.
func TestProcessNote(t *testing.T) {
	m := newTestModel(t, composer.DraftFile{})
	m.Update(noteMsg{"! without effect in cairn: mcp (/doctor)"})
	if got := ansi.Strip(strings.Join(m.noteLines(), "\n")); got != "! without effect in cairn: mcp (/doctor)" {
		t.Errorf("got %q", got)
	}
}
