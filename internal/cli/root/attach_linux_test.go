package root_test

import (
	"bytes"
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
	home, dir := newScriptedHome(t, `{"turns": [
			{"match": "edit it", "steps": [
				{"call": {"name": "edit", "arguments": {"filePath": "a.txt", "oldString": "foo", "newString": "bar"}}}]},
			{"match": "edit it", "steps": [{"text": "All \u001b]0;owned\u0007\u001b[2Jdone."}]},
			{"match": "slow", "repeat": true, "steps": [{"text": "One "}, {"delay": "1h"}, {"text": "two."}]},
			{"match": "Write notes", "steps": [{"text": "## Goal\n- Edit."}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`)
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

// TestAttachAfterKill: the work of a killed process, which would hang again, is not done first when a line is sent to its
// session.
func TestAttachAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	home, dir := newScriptedHome(t, facesScript)
	cmd, ours := startOnTerminal(t, home, dir, "run", "hang")
	var screen []byte
	for buf := make([]byte, 4096); !bytes.Contains(screen, []byte("One")); {
		n, err := ours.Read(buf)
		if screen = append(screen, buf[:n]...); err != nil {
			t.Fatalf("%v:\n%s", err, screen)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	shown, code := onTerminal(t, home, dir, []dialogue{{"\n> ", "hello\n"}, {"Anything.", "\x04"}}, "attach", "--plain", "-c")
	if code != 0 {
		t.Errorf("exit %d, screen:\n%s", code, shown)
	}
}

// TestAttachAfterDelete: when another client has deleted the session, the next line begins another one.
func TestAttachAfterDelete(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	home, dir := newScriptedHome(t, facesScript)
	deleted := false
	remove := func(seen string) {
		if seen == "Anything." && !deleted {
			deleted = true
			runCairn(t, home, dir, "session", "delete", "last", "--yes")
		}
	}
	screen, code := onTerminalWith(t, home, dir, []dialogue{
		{"> ", "hello\n"}, {"Anything.", ""}, {"> ", "hello again\n"}, {"Anything.", "\x04"},
	}, remove, "attach", "--plain")
	if code != 0 || !strings.Contains(screen, "this session was deleted") {
		t.Errorf("exit %d, screen:\n%s", code, screen)
	}
}

// TestAttachMarksMissingDirectories: the list of sessions has the directories of others, and marks those that are
// missing; such a session is not continued. Lines that were typed before a request are named, because they are not sent.
func TestAttachMarksMissingDirectories(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	home, dir := newScriptedHome(t, `{"turns": [
			{"match": "edit it", "steps": [
				{"call": {"name": "edit", "arguments": {"filePath": "a.txt", "oldString": "foo", "newString": "bar"}}}]},
			{"match": "edit it", "steps": [{"text": "All done."}]},
			{"repeat": true, "steps": [{"text": "Anything."}]}]}`)
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	sub := filepath.Join(dir, "lib")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	runCairn(t, home, sub, "run", "hello")
	if err := os.Remove(sub); err != nil {
		t.Fatal(err)
	}
	screen, code := onTerminal(t, home, dir, []dialogue{
		{"\n> ", "/sessions\n"},
		{"\n> ", "/sessions 1\n"},
		{"is gone", "edit it\nearly\n"},
		{"a: always", "y\n"},
		{"All done.", "\x04"},
	}, "attach", "--plain")
	shown := []string{
		"lib/ (directory is gone)", "the directory of session ses_",
		"1 line not sent: typed before this request was shown",
	}
	for _, text := range shown {
		if code != 0 || !strings.Contains(screen, text) {
			t.Errorf("exit %d, want 0 and %q, screen:\n%s", code, text, screen)
		}
	}
}
