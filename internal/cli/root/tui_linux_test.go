package root_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestLeaveInBackground: work goes on in a process of its own after the full-screen interface was left.
func TestLeaveInBackground(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	home, dir := newScriptedHome(t,
		`{"turns": [{"repeat": true, "steps": [{"text": "One "}, {"delay": "1h"}, {"text": "two."}]}]}`)
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

// TestInterfaceModel: -m answers the first prompt with the model that it names, not the configured one; a prompt on the
// command line is sent without a key.
func TestInterfaceModel(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name := regexp.MustCompile(`"model":"(\w+)"`).FindSubmatch(body)
		if name == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Answered by %s."}}]}`+"\n\n"+
			`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n", name[1])
	}))
	defer vendor.Close()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	config := fmt.Sprintf(`{"model": "mock/first", "provider": {"mock": {"npm": "@ai-sdk/openai-compatible",
		"options": {"baseURL": %q, "apiKey": "k"}, "models": {"first": {}, "second": {}}}}}`, vendor.URL)
	err = errors.Join(os.Mkdir(filepath.Join(home, "config"), 0o700),
		os.WriteFile(filepath.Join(home, "config", "cairn.json"), []byte(config), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	t.Setenv("COLUMNS", "80") // the terminal has a size
	for _, args := range [][]string{
		{"tui", "-m", "mock/second"}, {"-m", "mock/second", "hi there"}, {"tui", ".", "-m", "mock/second", "--prompt=hi"},
	} {
		awaitAnswer(t, home, args)
	}
}

// awaitAnswer runs the interface until the second model has answered. Without a prompt in the arguments it types one.
func awaitAnswer(t *testing.T, home string, args []string) {
	t.Helper()
	cmd, ours := startOnTerminal(t, home, t.TempDir(), args...)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if err := ours.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var screen []byte
	typed := len(args) != 3
	for buf := make([]byte, 4096); !bytes.Contains(screen, []byte("by second.")); {
		n, err := ours.Read(buf)
		if screen = append(screen, buf[:n]...); err != nil {
			t.Fatalf("%q: %v:\n%q", args, err, screen)
		}
		if !typed && bytes.Contains(screen, []byte("press Enter")) {
			typed = true
			if _, err := io.WriteString(ours, "hi\r"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
