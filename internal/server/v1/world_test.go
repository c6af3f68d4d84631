package v1_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/test/contracttest"
)

// TestMain lets the test program be its own supervisor of commands, as cairn is.
func TestMain(m *testing.M) {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		syscall.Exit(code) // the race detector would wait a second in os.Exit
	}
	os.Exit(m.Run())
}

// world is a whole cairn in this process, with a home and a checkout of its own.
type world struct {
	home, work string
	client     *http.Client
	contract   *contracttest.Contract
}

// newWorld opens one whose configuration has the further members, in a checkout of the files. Its model has no server.
func newWorld(t testing.TB, config string, files map[string]string) *world {
	t.Helper()
	return newWorldOf(t, "http://127.0.0.1:1", config, files)
}

// newWorldOf is newWorld with a model that answers at the URL.
func newWorldOf(t testing.TB, url, config string, files map[string]string) *world {
	t.Helper()
	w := &world{contract: contract(t), home: t.TempDir(), work: filepath.Join(t.TempDir(), "work")}
	w.put(t, filepath.Join(w.home, "config", "cairn.json"), fmt.Sprintf(`{
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": %q, "apiKey": "k-e-y"},
    "models": {"main": {"name": "Main", "limit": {"context": 100000, "output": 1000}, "reasoning": true,
      "cost": {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}}}}},
  "model": "mock/main"%s
}`, url, config))
	for i, name := range slices.Sorted(maps.Keys(files)) { // the last is the newest
		w.put(t, filepath.Join(w.work, name), files[name])
		at := time.Unix(1_700_000_000+60*int64(i), 0)
		if err := os.Chtimes(filepath.Join(w.work, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	w.git(t, "init", "-q", "-b", "main")
	w.git(t, "add", "-A")
	w.git(t, "commit", "-q", "--allow-empty", "-m", "first")
	env := func(name string) string {
		return map[string]string{
			"CAIRN_HOME": w.home, "HOME": w.home, "CAIRN_LOG": "error",
			"PATH": os.Getenv("PATH"),
		}[name]
	}
	c, err := host.Host{}.Open(t.Context(), client.Options{Dir: w.work, Env: env, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	w.client = c.API.HTTP
	return w
}

func (w *world) put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) git(t testing.TB, args ...string) string {
	t.Helper()
	if err := os.MkdirAll(w.work, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(
		"git",
		append(
			[]string{"-C", w.work, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"},
			args...,
		)...,
	)
	c.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request; a body that is not empty is sent as JSON. Headers are pairs.
func (w *world) ask(t testing.TB, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]}
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	w.hold(t, r, resp, b)
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// follow opens a stream and returns a function for its next event besides heartbeats, as "directory type properties".
func (w *world) follow(t testing.TB, path string) (next func() string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		t.Helper()
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || strings.Contains(data, "server.heartbeat") {
				continue
			}
			holdFrame(t, path, data)
			var v struct {
				Directory string         `json:"directory"`
				Type      string         `json:"type"`
				Payload   jsontext.Value `json:"payload"`
				Props     jsontext.Value `json:"properties"`
			}
			err := json.Unmarshal([]byte(data), &v)
			if err == nil && v.Payload != nil {
				err = json.Unmarshal(v.Payload, &v)
			}
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(v.Directory + " " + v.Type + " " + string(v.Props))
		}
		t.Fatal("the stream ended")
		return ""
	}
}

// get asks for what must be there and reads it.
func get[T any](t testing.TB, w *world, path string) (v T) {
	t.Helper()
	a := w.ask(t, http.MethodGet, path, "")
	if a.status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("GET %s: %v in %s", path, err, a.body)
	}
	return v
}
