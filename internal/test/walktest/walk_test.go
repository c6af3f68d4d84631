package walktest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// step is a function of the walk, in the form of go tool covdata: "internal/engine/turn.go", "*drain.takeTurn".
type step struct{ file, function string }

// readWalk returns the functions of the table in docs/WALK.md, in its order.
func readWalk(t *testing.T) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/WALK.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || !regexp.MustCompile(`^ \d+ $`).MatchString(cells[1]) {
			continue
		}
		files, functions := quoted.FindAllStringSubmatch(cells[2], -1), quoted.FindAllStringSubmatch(cells[3], -1)
		for i := range min(len(files), len(functions)) { // archtest checks that they correspond
			steps = append(steps, step{"internal/" + files[i][1], strings.NewReplacer("(", "", ")", "").Replace(functions[i][1])})
		}
	}
	return steps
}

// TestWalkIsExecuted: one prompt executes every function that docs/WALK.md names.
func TestWalkIsExecuted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds cairn with coverage")
	}
	steps := readWalk(t)
	if len(steps) < 20 {
		t.Fatalf("%d functions in the table", len(steps))
	}
	ran := runWithCoverage(t, buildWithCoverage(t, steps))
	for _, s := range steps {
		if !ran[s] {
			t.Errorf("%s: %s did not run", s.file, s.function)
		}
	}
}

// buildWithCoverage builds cairn so that it records which functions of the steps' packages run.
func buildWithCoverage(t *testing.T, steps []step) (program string) {
	t.Helper()
	packages := []string{"."} // without it nothing is written
	for _, s := range steps {
		packages = append(packages, "./"+path.Dir(s.file))
	}
	slices.Sort(packages)
	program = filepath.Join(t.TempDir(), "cairn")
	cmd := exec.Command("go", "build", "-cover", "-coverpkg="+strings.Join(slices.Compact(packages), ","), "-o", program, ".")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}

// runWithCoverage runs a prompt whose model reads a file and then answers, and returns the functions that ran.
func runWithCoverage(t *testing.T, program string) map[step]bool {
	t.Helper()
	dir, covered := t.TempDir(), t.TempDir()
	config := fmt.Sprintf(`{"model": "mock/main", "provider": {"mock": {"npm": "@ai-sdk/openai-compatible",
		"options": {"baseURL": %q, "apiKey": "k"}, "models": {"main": {}}}}}`, startVendor(t))
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("hello\n"), 0o600),
		os.MkdirAll(filepath.Join(dir, "home", "config"), 0o700),
		os.WriteFile(filepath.Join(dir, "home", "config", "cairn.json"), []byte(config), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "read notes.txt")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CAIRN_HOME="+filepath.Join(dir, "home"), "HOME="+dir, "CAIRN_DISABLE_KEYRING=1",
		"GOCOVERDIR="+covered)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "It says hello.") || !strings.Contains(string(out), "read notes.txt") {
		t.Fatalf("run: %v\n%s", err, out)
	}
	list, err := exec.Command("go", "tool", "covdata", "func", "-i="+covered).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)/(internal/\S+\.go):\d+:\s+(\S+)\s+(\S+)%$`)
	ran := map[step]bool{}
	for _, m := range line.FindAllStringSubmatch(string(list), -1) {
		ran[step{m[1], m[2]}] = m[3] != "0.0"
	}
	return ran
}

// startVendor starts a server with a model that calls the tool read, then answers, and returns its URL.
func startVendor(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		delta, finish := `{"content":"It says hello."}`, "stop"
		if !strings.Contains(string(body), `"role":"tool"`) && strings.Contains(string(body), "tools") {
			delta, finish = `{"tool_calls":[{"index":0,"id":"c","type":"function",
				"function":{"name":"read","arguments":"{\"filePath\":\"notes.txt\"}"}}]}`, "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n"+
			"data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n",
			strings.ReplaceAll(delta, "\n", ""), finish)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
