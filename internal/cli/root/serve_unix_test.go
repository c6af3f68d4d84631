//go:build unix

package root_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is an `opencode serve` in a home of its own.
type served struct {
	cmd    *exec.Cmd
	home   string
	url    string
	rest   chan string // what it printed behind its first line
	stderr bytes.Buffer
}

func serveAsOpenCode(t *testing.T, args ...string) *served {
	t.Helper()
	s := prepareServe(t, args...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	first, err := in.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSuffix(first, "\n"), "opencode server listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", first, err)
	}
	s.url = url
	go func() { // ends with the process
		b, _ := io.ReadAll(in)
		s.rest <- string(b)
	}()
	return s
}

// prepareServe is a command that has not started. It is ended with the test.
func prepareServe(t *testing.T, args ...string) *served {
	t.Helper()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	s := &served{home: home, rest: make(chan string, 1)}
	s.cmd = exec.Command("opencode", append([]string{"serve"}, args...)...)
	s.cmd.Dir, s.cmd.Stderr = t.TempDir(), &s.stderr
	s.cmd.Env = append(os.Environ(), "CAIRN_HOME="+home, "HOME="+home, "GORACE="+quick, "CAIRN_DISABLE_KEYRING=1")
	t.Cleanup(func() {
		if s.cmd.Process != nil {
			_ = s.cmd.Process.Kill() // it may have ended
			_ = s.cmd.Wait()
		}
		_ = os.RemoveAll(home)
	})
	return s
}

// end sends a signal and returns the exit code, -1 if the signal killed it.
func (s *served) end(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // the code says it
	return s.cmd.ProcessState.ExitCode()
}

// TestServeSignals: whichever signal asks it to, a server ends in order, with 0, and its first line is all it prints.
func TestServeSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	for name, sig := range map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught := make(chan os.Signal, 1)
			signal.Notify(caught, sig) // what is caught here is not ignored in a child, also below nohup
			defer signal.Stop(caught)
			s := serveAsOpenCode(t, "--port", "0")
			code := s.end(t, sig)
			if rest := <-s.rest; code != 0 || rest != "" {
				t.Errorf("exit %d, printed %q, said %s", code, rest, &s.stderr)
			}
		})
	}
}

// TestServePort: without a port it is OpenCode's, and any other when that is taken; one that is named is that or none.
func TestServePort(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	const own = "127.0.0.1:4096"
	first := serveAsOpenCode(t)
	if first.url != "http://"+own {
		c, err := net.Dial("tcp", own)
		if err != nil {
			t.Fatalf("%s although %s is free", first.url, own)
		}
		_ = c.Close()
	}
	second := serveAsOpenCode(t)
	if second.url == first.url || !strings.HasPrefix(second.url, "http://127.0.0.1:") {
		t.Errorf("%s and %s", first.url, second.url)
	}
	taken := prepareServe(t, "--port", first.url[strings.LastIndex(first.url, ":")+1:])
	out, err := taken.cmd.Output()
	if err == nil || len(out) > 0 || !strings.Contains(taken.stderr.String(), "cannot listen") {
		t.Errorf("%v %s%s", err, out, &taken.stderr)
	}
}

// TestServePages: pages of the origins that are named may ask, others may not.
func TestServePages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	t.Setenv("OPENCODE_SERVER_PASSWORD", "pw")
	s := serveAsOpenCode(t, "--port", "0", "--cors", "https://app.example", "--cors", "http://localhost:3000")
	for origin, want := range map[string]string{
		"https://app.example":   "https://app.example",
		"http://localhost:3000": "http://localhost:3000", "https://evil.example": "", "http://localhost:3001": "",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/global/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", origin)
		r.SetBasicAuth("opencode", "pw") // a browser has no process identity
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != want ||
			(resp.StatusCode == http.StatusOK) != (want != "") {
			t.Errorf("%s: %d, allowed %q", origin, resp.StatusCode, got)
		}
	}
}

// TestServeIsFound: only a server with a password is announced in the local network.
func TestServeIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	s := prepareServe(t, "--mdns", "--port", "0")
	if out, err := s.cmd.Output(); err == nil || len(out) > 0 ||
		!strings.Contains(s.stderr.String(), "SERVER_PASSWORD") ||
		s.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v %s%s", err, out, &s.stderr)
	}
}

// TestServeUnread: a server serves even if its first line is not read.
func TestServeUnread(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	s := prepareServe(t, "--port", "0")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close() // no reader
	s.cmd.Stdout = w
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()                                 // the process has its own
	poll := time.NewTicker(20 * time.Millisecond) // the server sends no signal
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); ; <-poll.C {
		b, err := os.ReadFile(filepath.Join(s.home, "data", "server.json"))
		url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).Find(b)
		if url != nil {
			var resp *http.Response
			if resp, err = http.Get(string(url) + "/global/health"); err == nil {
				_ = resp.Body.Close()
				break
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no answer at %q: %v", b, err)
		}
	}
	s.end(t, syscall.SIGTERM)
}
