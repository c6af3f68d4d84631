package root_test

import (
	"errors"
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
	home, dir := newScriptedHome(t, `{"turns": [
			{"match": "do all", "steps": [
				{"call": {"name": "task", "arguments": {"description": "lead", "prompt": "part A", "subagent_type": "lead"}}}]},
			{"match": "part A", "steps": [
				{"call": {"name": "task", "arguments": {"description": "write", "prompt": "part B", "subagent_type": "general"}}}]},
			{"match": "part B", "steps": [{"call": {"name": "write", "arguments": {"filePath": "one.txt", "content": "1"}}}]},
			{"match": "part B", "steps": [{"call": {"name": "write", "arguments": {"filePath": "two.txt", "content": "2"}}}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`)
	config := filepath.Join(home, "config", "cairn.json")
	err := errors.Join(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, []byte(
		`{"agent": {"lead": {"mode": "subagent", "permission": {"task": "allow"}}}}`,
	), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"> ", "do all\n"},
		{"one.txt", "y\n"},
		{"two.txt", "\x04"}, // all sessions of the tree wait for the answer
	}, "attach", "--plain")
	_, err = os.Stat(filepath.Join(dir, "one.txt"))
	if err != nil || code != 0 || strings.Contains(screen, "Ctrl-C to stop") {
		t.Fatalf("exit %d, %v, screen:\n%s", code, err, screen)
	}
	writeScript(t, dir, `{"turns": [
			{"match": "part B", "repeat": true, "steps": [{"text": "Written."}]},
			{"match": "part A", "repeat": true, "steps": [{"text": "Led."}]},
			{"match": "do all", "repeat": true, "steps": [{"text": "All is done."}]}]}`)
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
	home, dir := newScriptedHome(t, `{"turns": [
		{"match": "hello", "steps": [{"call": {"name": "task", "arguments": {
			"description": "write", "prompt": "part A", "subagent_type": "general", "background": true}}}]},
		{"match": "hello", "steps": [{"text": "I go on."}]},
		{"match": "part A", "steps": [{"call": {"name": "write", "arguments": {"filePath": "one.txt", "content": "1"}}}]},
		{"match": "part A", "steps": [{"text": "Written."}]},
		{"match": "<task", "steps": [{"text": "All is done."}]}]}`)
	screen, code := onTerminal(t, home, dir, []dialogue{{"one.txt", "y\n"}}, "run", "hello")
	_, err := os.Stat(filepath.Join(dir, "one.txt"))
	if err != nil || code != 0 || !strings.Contains(screen, "All is done.") {
		t.Errorf("exit %d, %v, screen:\n%s", code, err, screen)
	}
}
