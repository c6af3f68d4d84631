//go:build unix

package lsp

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeVariable makes the test program a language server that follows the named script.
const fakeVariable = "LSP_FAKE_SCRIPT"

func TestMain(m *testing.M) {
	if name := os.Getenv(fakeVariable); name != "" {
		runProgram(name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runProgram is the test program as a language server.
func runProgram(script string) {
	f := &fakeServer{in: bufio.NewReader(os.Stdin), out: os.Stdout, handle: publishErrors, writing: make(chan struct{}, 1)}
	switch script {
	case "plain":
	case "crash":
		fmt.Fprintln(os.Stderr, "panic: no luck")
		return
	case "flood-errors": // of the standard error
		line := strings.Repeat("x", 1000)
		for range 10000 {
			fmt.Fprintln(os.Stderr, line)
		}
	case "stray": // leaves a process that holds its output, and does not end by itself
		stray := exec.Command(os.Args[0])
		stray.Env = append(os.Environ(), fakeVariable+"=sleep")
		stray.Stdout, stray.Stderr = os.Stdout, os.Stderr
		if err := stray.Start(); err != nil {
			panic(err)
		}
		_ = os.WriteFile("stray.pid", []byte(strconv.Itoa(stray.Process.Pid)), 0o600)
	case "sleep":
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never
	}
	f.run()
}

// startProcess makes the manager use the test program as the server.
func (w *world) startProcess(script string) *Manager {
	w.start(func(o *Options) { o.Servers[0].Env = []string{fakeVariable + "=" + script} })
	w.manager.start = w.manager.startProgram
	w.Cleanup(w.manager.Close)
	return w.manager
}

func TestProcess(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"plain", "flood-errors", "stray"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := w.startProcess(script)
			path := w.write("a.x", "ERROR one\n")
			r := m.Diagnose(t.Context(), []string{path}, time.Minute)
			for _, e := range m.entries {
				if used := e.client.endpoint.memory(); runtime.GOOS == "linux" && used < 1<<20 {
					t.Errorf("it uses %d bytes", used)
				}
			}
			if !strings.Contains(r.Format(nil), "ERROR one") {
				t.Errorf("report: %+v", r)
			}
		})
	}
}

// A server ends with what it started, also if that holds its output.
func TestProcessTreeEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := New(Options{Directory: w.dir, Servers: []Server{{
		ID: "fake", Extensions: []string{".x"}, Programs: start(os.Args[0]), Env: []string{fakeVariable + "=stray"},
	}}})
	m.Diagnose(t.Context(), []string{w.write("a.x", "ERROR one\n")}, time.Minute)
	m.Close()
	data, err := os.ReadFile(w.dir + "/stray.pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(string(data))
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %d is alive: %s", pid, stat)
	} else if err != nil && syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is alive", pid)
	}
}

func TestProcessCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.startProcess("crash")
	path := w.write("a.x", "x")
	if r := m.Diagnose(t.Context(), []string{path}, time.Minute); len(r.Unanswered) > 0 {
		t.Errorf("a server that cannot run is waited for: %+v", r)
	}
	status := m.Status()
	if len(status) != 1 || status[0].Status != "error" || !strings.Contains(status[0].Reason, "no luck") {
		t.Errorf("status: %+v", status)
	}
}
