package root_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
)

// TestLeaveInBackground: work goes on in a process of its own after the full-screen interface was left.
func TestLeaveInBackground(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	dir := t.TempDir()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	script := filepath.Join(dir, "script.json")
	text := `{"turns": [{"repeat": true, "steps": [{"text": "One "}, {"delay": "1h"}, {"text": "two."}]}]}`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_SCRIPT", script)
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"press Enter", "slow\r"},
		{"One", "\x03"},
		{"leave, and let it work", "b"},
	}, "tui")
	line := regexp.MustCompile(`works on in the background; stop it with: kill (\d+); its log: \S+/background.log`)
	said := line.FindStringSubmatch(screen)
	if code != 0 || said == nil {
		t.Fatalf("exit %d:\n%q", code, screen)
	}
	pid, _ := strconv.Atoi(said[1])
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the process that works is gone: %v", err)
	}
	for syscall.Kill(pid, 0) == nil { // until it has left the directory
	}
}
