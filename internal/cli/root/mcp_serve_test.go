package root_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/test/script"
)

// sessionOutcome is what the tools of cairn mcp serve say of work.
type sessionOutcome struct {
	Session string `json:"session"`
	State   string `json:"state"`
	Text    string `json:"text"`
	Error   string `json:"error"`
	Asks    []struct {
		ID        string `json:"id"`
		Summary   string `json:"summary"`
		Questions []struct {
			Options []string `json:"options"`
		} `json:"questions"`
	} `json:"asks"`
}

func readOutcome(t *testing.T, text string) (out sessionOutcome) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(text, err)
	}
	return out
}

// sessionTools calls a tool of cairn mcp serve and returns the text of the result.
type sessionTools func(name string, arguments map[string]any) string

// newSessionServers returns a function that runs cairn mcp serve in a directory. All share a home and a script.
func newSessionServers(t *testing.T, turns string) (serve func(dir string) sessionTools) {
	t.Helper()
	home := t.TempDir()
	scriptFile := filepath.Join(home, "script.json")
	if err := os.WriteFile(scriptFile, []byte(turns), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := append(os.Environ(), "CAIRN_HOME="+home, "HOME="+home, script.Variable+"="+scriptFile,
		"CAIRN_DISABLE_KEYRING=1", "CAIRN_DISABLE_MODELS_FETCH=1", "CAIRN_DISABLE_DISCOVERY=1", "GORACE="+quick)
	return func(dir string) sessionTools {
		t.Helper()
		cmd := exec.Command("cairn", "mcp", "serve", "--allow-answers")
		cmd.Dir, cmd.Env = dir, environment
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{})
		opened, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = opened.Close() })
		return func(name string, arguments map[string]any) string {
			t.Helper()
			r, err := opened.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
			if err != nil {
				t.Fatal(name, err)
			}
			var texts []string
			for _, c := range r.Content {
				texts = append(texts, c.(*mcp.TextContent).Text)
			}
			return strings.Join(texts, "\n")
		}
	}
}

// Work that failed or was interrupted is not done: each wait for it says so and why. The list has the states.
func TestServeSessionsSayHowWorkEnded(t *testing.T) {
	call := newSessionServers(t, `{"turns": [
		{"match": "fail", "steps": [{"text": "Half."}, {"fault": {"kind": "status", "status": 400, "message": "bad thing"}}]},
		{"match": "write", "steps": [
			{"call": {"id": "c1", "name": "write", "arguments": {"filePath": "a.txt", "content": "two\n"}}}]},
		{"repeat": true, "steps": [{"text": "All done."}]}]}`)(t.TempDir())
	wait := func(id string) sessionOutcome {
		t.Helper()
		return readOutcome(t, call("session_wait", map[string]any{"session": id}))
	}
	// A failure, as the caller that gave the task learns it and as one that waits later does.
	failed := readOutcome(t, call("session_prompt", map[string]any{"text": "fail please", "title": "Fails"}))
	if failed.State != "failed" || !strings.Contains(failed.Error, "bad thing") {
		t.Errorf("the prompt: %+v", failed)
	}
	again := wait(failed.Session)
	if again.State != "failed" || !strings.Contains(again.Error, "bad thing") || again.Text != "Half." {
		t.Errorf("a wait for failed work: %+v", again)
	}
	// An interrupt while a permission is asked for.
	stopped := readOutcome(t, call("session_prompt", map[string]any{"text": "write it", "title": "Stops"}))
	list := call("session_list", nil)
	for _, part := range []string{`"state":"asking"`, `"state":"idle"`, `"title":"Stops"`, `"updated":"2`} {
		if !strings.Contains(list, part) {
			t.Errorf("the list has no %s: %s", part, list)
		}
	}
	call("session_interrupt", map[string]any{"session": stopped.Session})
	if again = wait(stopped.Session); again.State != "interrupted" || !strings.Contains(again.Error, "interrupted") {
		t.Errorf("a wait for interrupted work: %+v", again)
	}
	// Later work that ends well is done.
	later := map[string]any{"text": "thanks", "session": failed.Session}
	if done := readOutcome(t, call("session_prompt", later)); done.State != "done" {
		t.Errorf("later work: %+v", done)
	}
	if done := wait(failed.Session); done.State != "done" || done.Error != "" || done.Text != "All done." {
		t.Errorf("a wait for later work: %+v", done)
	}
}

// TestServeSessions drives sessions through cairn mcp serve as another agent does: it gives a task, meets a permission
// request, answers it, and reads what came of it.
func TestServeSessions(t *testing.T) {
	project := t.TempDir()
	serve := newSessionServers(t, `{"turns": [
		{"match": "ask me", "steps": [{"call": {"id": "c2", "name": "question", "arguments": {"questions": [
			{"question": "Which?", "header": "Which", "options": [{"label": "red", "description": "warm"}]}]}}}]},
		{"match": "write", "steps": [
			{"call": {"id": "c1", "name": "write", "arguments": {"filePath": "a.txt", "content": "two\n"}}}]},
		{"repeat": true, "steps": [{"text": "All done."}]}]}`)
	call := serve(project)
	read := func(text string) sessionOutcome { t.Helper(); return readOutcome(t, text) }
	// The task needs a permission: the call returns with it.
	first := read(call("session_prompt", map[string]any{"text": "write the file", "title": "Files"}))
	if first.State != "asking" || len(first.Asks) != 1 || !strings.Contains(first.Asks[0].Summary, "a.txt") {
		t.Fatalf("%+v", first)
	}
	// A wait finds the request that is open already.
	if again := read(call("session_wait", map[string]any{"session": first.Session})); again.State != "asking" || len(again.Asks) != 1 {
		t.Errorf("a wait for a session that asks: %+v", again)
	}
	call("session_answer", map[string]any{"session": first.Session, "ask": first.Asks[0].ID, "reply": "once"})
	if done := read(call("session_wait", map[string]any{"session": first.Session})); done.State != "done" || done.Text != "All done." {
		t.Errorf("%+v", done)
	}
	for name, want := range map[string]string{"session_read": "> write the file", "session_diff": "+two", "session_list": "Files"} {
		arguments := map[string]any{"session": first.Session}
		if name == "session_list" {
			arguments = nil
		}
		if got := call(name, arguments); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	// A prompt in the same session that needs nothing.
	if again := read(call("session_prompt", map[string]any{"text": "thanks", "session": first.Session})); again.State != "done" {
		t.Errorf("%+v", again)
	}
	// A question is shown with its options and can be answered.
	question := read(call("session_prompt", map[string]any{"text": "ask me", "session": first.Session}))
	if question.State != "asking" || len(question.Asks) != 1 || !strings.Contains(question.Asks[0].Questions[0].Options[0], "red") {
		t.Fatalf("%+v", question)
	}
	answer := map[string]any{"session": first.Session, "ask": question.Asks[0].ID}
	if got := call("session_answer", answer); !strings.Contains(got, "give answers") {
		t.Errorf("a question without answers: %s", got)
	}
	answer["answers"] = [][]string{{"red"}}
	call("session_answer", answer)
	if done := read(call("session_wait", map[string]any{"session": first.Session})); done.State != "done" {
		t.Errorf("after the answer: %+v", done)
	}
	if text, err := os.ReadFile(filepath.Join(project, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("%q %v", text, err)
	}
	// Another directory's server does not offer the session.
	call = serve(t.TempDir())
	for _, name := range []string{"session_read", "session_diff", "session_wait", "session_interrupt", "session_prompt", "session_answer"} {
		arguments := map[string]any{"session": first.Session}
		switch name {
		case "session_prompt":
			arguments["text"] = "thanks"
		case "session_answer":
			arguments["ask"] = "x"
		}
		if got := call(name, arguments); !strings.Contains(got, "not found") {
			t.Errorf("%s of another directory: %s", name, got)
		}
	}
	if got := call("session_list", nil); strings.Contains(got, first.Session) {
		t.Errorf("session_list of another directory: %s", got)
	}
}
