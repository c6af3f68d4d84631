package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTalkOnTerminal: a talk on a terminal streams, asks, queues and stops; what the model says cannot drive the
// terminal.
func TestTalkOnTerminal(t *testing.T) {
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
		"a.txt": "hello foo\n",
		"script.json": `{"turns": [
			{"match": "edit it", "steps": [{"call": {"name": "edit", "arguments": {"filePath": "a.txt", "oldString": "foo", "newString": "bar"}}}]},
			{"match": "edit it", "steps": [{"text": "All \u001b]0;owned\u0007\u001b[2Jdone."}]},
			{"match": "slow", "repeat": true, "steps": [{"text": "One "}, {"delay": "1h"}, {"text": "two."}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "script.json"))
	t.Setenv("CAIRN_PERMISSION", `{"edit": "ask"}`)
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"> ", "edit it\n"},
		{"2: always", "1\n"},
		{"\n> ", "slow\n"},
		{"One ", "and then\n"},
		{"queued: and then", "\x03"},
		{"\n> ", "/new\n"},
		{"\n> ", "\x03"},
		{"Ctrl-C again leaves", "\x03"},
	}, "attach")
	for _, shown := range []string{"+hello bar", "done.", "queued: and then", "stopping", "stopped", "begins a session"} {
		if !strings.Contains(screen, shown) {
			t.Errorf("never on the screen: %q", shown)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	if err != nil || string(got) != "hello bar\n" || code != 130 || strings.Contains(screen, "\x1b") || strings.Contains(screen, "\a") {
		t.Errorf("exit %d, file %q (%v), screen:\n%q", code, got, err, screen)
	}
	screen, code = onTerminal(t, home, dir, []dialogue{{"\n> ", "\x04"}}, "attach", "-c", "--replay-limit", "9")
	if code != 0 || !strings.Contains(screen, "All ") || !strings.Contains(screen, "> edit it") {
		t.Errorf("exit %d, screen:\n%s", code, screen)
	}
}
