package root_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttachOnTerminal: on a terminal attach streams, asks and interrupts, and what the model writes cannot
// drive the terminal.
func TestAttachOnTerminal(t *testing.T) {
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
			{"match": "edit it", "steps": [
				{"call": {"name": "edit", "arguments": {"filePath": "a.txt", "oldString": "foo", "newString": "bar"}}}]},
			{"match": "edit it", "steps": [{"text": "All \u001b]0;owned\u0007\u001b[2Jdone."}]},
			{"match": "slow", "repeat": true, "steps": [{"text": "One "}, {"delay": "1h"}, {"text": "two."}]},
			{"match": "Write notes", "steps": [{"text": "## Goal\n- Edit."}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "script.json"))
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"> ", "edit it\n"},
		{"a: always", "y\n"},
		{"\n> ", "slow\n"},
		{"One ", "\x03"},
		{"\n> ", "/sessions\n"},
		{"\n> ", "/new\n"},
		{"\n> ", "what now\n"},
		{"\n> ", "\x03"},
		{"Ctrl-C again", "\x03"},
	}, "attach", "--plain")
	shown := []string{
		"+hello bar",
		"done.",
		"interrupting",
		"interrupted; the session can be continued",
		"  1  ses_",
		"begins a session",
		"Anything.",
	}
	for _, text := range shown {
		if !strings.Contains(screen, text) {
			t.Errorf("%q is not on the screen", text)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	if err != nil || string(got) != "hello bar\n" || code != 130 || strings.ContainsAny(screen, "\x1b\a") {
		t.Errorf("exit %d, file %q (%v), screen:\n%q", code, got, err, screen)
	}
	screen, code = onTerminal(
		t,
		home,
		dir,
		[]dialogue{{"\n> ", "/sessions\n"}, {"\n> ", "/sessions 2\n"}, {"\n> ", "\x04"}},
		"attach",
		"--plain",
		"-c",
	)
	for _, text := range []string{"> what now", "> slow", "One "} {
		if code != 0 || !strings.Contains(screen, text) {
			t.Errorf("exit %d, want 0 and %q, screen:\n%s", code, text, screen)
		}
	}
	screen, code = onTerminal(t, home, dir, []dialogue{
		{"\n> ", "/context\n"},
		{"shows it by source", "/compact the answer\n"},
		{"the history was summarised", "\x04"},
	}, "attach", "--plain", "-c", "--replay-limit", "1")
	if code != 0 || !strings.Contains(screen, "Anything.") || strings.Contains(screen, "> what now") ||
		!strings.Contains(screen, "next request: ") {
		t.Errorf("exit %d, want 0, the answer alone, and the next request, screen:\n%s", code, screen)
	}
	opencode := exec.Command("opencode", "run", "what now")
	opencode.Dir, opencode.Env = dir, append(os.Environ(), "CAIRN_HOME="+home, "HOME="+home, "GORACE="+quick)
	if out, err := opencode.CombinedOutput(); err != nil {
		t.Fatalf("opencode run: %v: %s", err, out)
	}
	for _, args := range [][]string{{"attach", "--plain", "-c"}, {"run", "-c", "what now"}} {
		screen, code = onTerminal(t, home, dir, []dialogue{{"rule decides runs without asking", "\x04"}}, args...)
		if code != 0 {
			t.Errorf("%v: exit %d, screen:\n%s", args, code, screen)
		}
	}
}
