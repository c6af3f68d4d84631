//go:build unix

package v1_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// run opens a terminal, waits for its end, and returns what the stream said of that.
func (w *world) run(t *testing.T, body string) (opened answer, exited string) {
	t.Helper()
	next := w.follow(t, "/event")
	next() // server.connected
	opened = w.ask(t, http.MethodPost, "/pty", body)
	if opened.status != 200 {
		t.Fatal(opened)
	}
	for !strings.HasPrefix(exited, "pty.exited ") {
		exited = next()
	}
	return opened, exited
}

// A terminal gets to know what a command gets to know, what its client says, and nothing else of the server's.
func TestTheEnvironmentOfATerminal(t *testing.T) {
	for _, name := range []string{"MY_PROVIDER_TOKEN", "CAIRN_SERVER_PASSWORD", "OPENCODE_SERVER_PASSWORD"} {
		t.Setenv(name, "s-e-c-r-e-t")
	}
	w := newWorld(t, "", map[string]string{"below/x": ""})
	_, exited := w.run(
		t,
		`{"command":"sh","args":["-c","env > env.txt; exit 3"],"cwd":"below","env":{"MINE":"said","TERM":"dumb"}}`,
	)
	if !strings.HasSuffix(exited, `"exitCode":3}`) {
		t.Error(exited)
	}
	if a := w.ask(t, http.MethodGet, "/pty", ""); a.body != "[]" {
		t.Error("what has ended is listed still:", a.body)
	}
	b, err := os.ReadFile(filepath.Join(w.work, "below", "env.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"s-e-c-r-e-t": false, "MINE=said\n": true, "TERM=xterm-256color\n": true, "OPENCODE_TERMINAL=1\n": true,
		"PATH=": true,
	} {
		if strings.Contains(string(b), text) != want {
			t.Errorf("%q: %v in\n%s", text, !want, b)
		}
	}
}

// The shell that a project's file names does not run before the project is trusted.
func TestAProjectsShellIsInert(t *testing.T) {
	evil := "#!/bin/sh\necho ran > ran\n"
	w := newWorld(t, `, "shell": "/bin/sh"`, map[string]string{"opencode.json": `{"shell": "./evil"}`, "evil": evil})
	if err := os.Chmod(filepath.Join(w.work, "evil"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := w.ask(t, http.MethodPost, "/pty", "")
	if a.status != 200 || !strings.Contains(a.body, `"command":"/bin/sh","args":["-l"]`) {
		t.Error(a)
	}
	if _, err := os.Stat(filepath.Join(w.work, "ran")); err == nil {
		t.Error("the project's shell ran")
	}
}

// No program of a terminal outlives the server.
func TestTerminalsEndWithTheirHost(t *testing.T) {
	var pid int
	t.Run("host", func(t *testing.T) {
		w := newWorld(t, "", nil)
		a := w.ask(t, http.MethodPost, "/pty", `{"command":"sleep","args":["1000"]}`)
		var v struct {
			PID int `json:"pid"`
		}
		if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.PID == 0 || syscall.Kill(v.PID, 0) != nil {
			t.Fatal(a, err)
		}
		pid = v.PID
	})
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// Terminals are of one directory.
func TestTerminalsOfADirectory(t *testing.T) {
	w := newWorld(t, "", map[string]string{"below/x": ""})
	below := "?directory=" + url.QueryEscape(filepath.Join(w.work, "below"))
	if a := w.ask(t, http.MethodPost, "/pty"+below, `{"command":"sh","title":"Below"}`); a.status != 200 ||
		!strings.Contains(a.body, `/below","status":"running"`) {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/pty"+below, ""); !strings.Contains(a.body, "Below") {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/pty", ""); a.body != "[]" {
		t.Error(a)
	}
}

func TestTerminalsThatCannotBe(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/pty", `{"command":"no-such-program"}`, 400, `["command"]`},
		{"POST", "/pty", `{"command":7}`, 400, `["command"]`},
		{"POST", "/pty", `{"args":"x"}`, 400, `["args"]`},
		{"POST", "/pty", `{"command":"sh","cwd":"nowhere"}`, 400, `["cwd"]`},
		{"POST", "/pty", `{"command":"sh","env":{"A=B":"x"}}`, 400, `["env"]`},
		{"PUT", "/pty/pty_none", `{"title":"x"}`, 404, "PTY session not found: pty_none"},
		{"GET", "/pty/pty_none", "", 404, "PTY session not found: pty_none"},
		{"DELETE", "/pty/pty_none", "", 404, "PTY session not found: pty_none"},
		{"GET", "/pty/none", "", 400, `["ptyID"]`},
	} {
		if a := w.ask(t, c.method, c.path, c.body); a.status != c.status ||
			!strings.Contains(strings.ReplaceAll(a.body, `\"`, `"`), c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
}
