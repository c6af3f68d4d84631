package root_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttachAnswersSubagents: with --plain, what the subagent of a subagent asks is asked on the terminal, also after
// the process with which it began has ended.
func TestAttachAnswersSubagents(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	dir := t.TempDir()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	for name, text := range map[string]string{
		"cairn.json": `{"agent": {"lead": {"mode": "subagent", "permission": {"task": "allow"}}}}`,
		"script.json": `{"turns": [
			{"match": "do all", "steps": [
				{"call": {"name": "task", "arguments": {"description": "lead", "prompt": "part A", "subagent_type": "lead"}}}]},
			{"match": "part A", "steps": [
				{"call": {"name": "task", "arguments": {"description": "write", "prompt": "part B", "subagent_type": "general"}}}]},
			{"match": "part B", "steps": [{"call": {"name": "write", "arguments": {"filePath": "one.txt", "content": "1"}}}]},
			{"match": "part B", "steps": [{"call": {"name": "write", "arguments": {"filePath": "two.txt", "content": "2"}}}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`,
		"later.json": `{"turns": [
			{"match": "part B", "repeat": true, "steps": [{"text": "Written."}]},
			{"match": "part A", "repeat": true, "steps": [{"text": "Led."}]},
			{"match": "do all", "repeat": true, "steps": [{"text": "All is done."}]}]}`,
	} {
		at := filepath.Join(dir, name)
		if name == "cairn.json" {
			at = filepath.Join(home, "config", name)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "script.json"))
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"> ", "do all\n"},
		{"one.txt", "y\n"},
		{"two.txt", "\x04"}, // all sessions of the tree wait for the answer
	}, "attach", "--plain")
	_, err = os.Stat(filepath.Join(dir, "one.txt"))
	if err != nil || code != 0 || strings.Contains(screen, "Ctrl-C to stop") {
		t.Fatalf("exit %d, %v, screen:\n%s", code, err, screen)
	}
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "later.json"))
	screen, code = onTerminal(t, home, dir, []dialogue{
		{"two.txt", "y\n"},
		{"All is done.", "\x04"},
	}, "attach", "--plain", "-c")
	_, err = os.Stat(filepath.Join(dir, "two.txt"))
	if err != nil || code != 0 || !strings.Contains(screen, "All is done.") {
		t.Errorf("exit %d, %v, screen:\n%s", code, err, screen)
	}
}

// TestRunAnswersTaskInBackground: what a subagent in the background asks is asked on the terminal of the run.
func TestRunAnswersTaskInBackground(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	dir := t.TempDir()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	script := `{"turns": [
		{"match": "hello", "steps": [{"call": {"name": "task", "arguments": {
			"description": "write", "prompt": "part A", "subagent_type": "general", "background": true}}}]},
		{"match": "hello", "steps": [{"text": "I go on."}]},
		{"match": "part A", "steps": [{"call": {"name": "write", "arguments": {"filePath": "one.txt", "content": "1"}}}]},
		{"match": "part A", "steps": [{"text": "Written."}]},
		{"match": "<task", "steps": [{"text": "All is done."}]}]}`
	if err := os.WriteFile(filepath.Join(dir, "script.json"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "script.json"))
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	screen, code := onTerminal(t, home, dir, []dialogue{{"one.txt", "y\n"}}, "run", "hello")
	_, err = os.Stat(filepath.Join(dir, "one.txt"))
	if err != nil || code != 0 || !strings.Contains(screen, "All is done.") {
		t.Errorf("exit %d, %v, screen:\n%s", code, err, screen)
	}
}
