package root_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// face is one of the interfaces to a session at work, with what is typed to reach and to leave a state.
type face struct {
	name   string
	args   func(prompt string) []string
	begin  func(prompt string) []dialogue // sends the prompt
	answer []dialogue                     // allows what is asked, once it is asked
	stop   string                         // interrupts the work
	leave  []dialogue                     // when the work is done
	code   map[string]int                 // exit codes by behaviour, where they are not 0
	after  string                         // is shown when the process that did the work was killed

	leaveAfter string // leaves then, if leave does not
}

// askSeen is on the full screen with an ask. It takes keys after a pause, so that the test answers it from elsewhere.
const askSeen = "keys answer this"

func listFaces() []face {
	typed := func(seen, enter string) func(string) []dialogue {
		return func(prompt string) []dialogue { return []dialogue{{seen, prompt + enter}} }
	}
	return []face{
		{
			name: "run", args: func(prompt string) []string { return []string{"run", prompt} },
			begin: func(string) []dialogue { return nil }, answer: []dialogue{{"a: always", "y\n"}}, stop: "\x03",
			code: map[string]int{"interrupt": 130}, after: "All of it.",
		},
		{
			name: "attach", args: func(string) []string { return []string{"attach", "--plain"} },
			begin: typed("> ", "\n"), answer: []dialogue{{"a: always", "y\n"}}, stop: "\x03",
			leave: []dialogue{{"\n> ", "\x04"}}, after: "All of it.",
		},
		{
			name: "tui", args: func(string) []string { return []string{"tui"} },
			begin: typed("press Enter", "\r"), answer: []dialogue{{askSeen, ""}}, stop: "\x1b",
			leave: []dialogue{{"ready", "\x03"}}, after: "cut off", // the person decides whether to continue
			leaveAfter: "\x03",
		},
	}
}

// TestFaces: run, attach --plain and the full-screen interface show a session through the same client. Each asks, ends
// when the session is idle, stops the work, and goes on when the process that does the work is killed.
func TestFaces(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	behaviours := []struct {
		name, prompt, wait, shows string
		act                       func(f face) []dialogue
	}{
		{"idle", "hello", "", "Anything.", func(face) []dialogue { return []dialogue{{"Anything.", ""}} }},
		{"ask", "edit it", "", "Edited.", func(f face) []dialogue { return f.answer }},
		{"interrupt", "slow", "One", "One", func(f face) []dialogue { return []dialogue{{"One", f.stop}} }},
		{"reconnect", "hang", "One", "", func(f face) []dialogue {
			return []dialogue{{"One", ""}, {f.after, f.leaveAfter}}
		}},
	}
	for _, b := range behaviours {
		for _, f := range listFaces() {
			t.Run(b.name+"/"+f.name, func(t *testing.T) {
				home, dir := newScriptedHome(t, facesScript)
				act := func(seen string) {
					if seen == askSeen {
						replyOnce(t, home, dir)
					}
				}
				if b.name == "reconnect" {
					owner := startOwner(t, home, dir)
					act = func(seen string) {
						if seen == b.wait {
							writeScript(t, dir, `{"turns": [{"repeat": true, "steps": [{"text": ["All ", "of ", "it."]}]}]}`)
							_ = owner.Process.Kill()
						}
					}
				}
				talk := append(f.begin(b.prompt), b.act(f)...)
				if b.name != "reconnect" || f.leaveAfter == "" {
					talk = append(talk, f.leave...)
				}
				screen, code := onTerminalWith(t, home, dir, talk, act, f.args(b.prompt)...)
				if want := cmp.Or(b.shows, f.after); code != f.code[b.name] || !strings.Contains(screen, want) {
					t.Errorf("exit %d, want %d and %q, screen:\n%q", code, f.code[b.name], want, screen)
				}
				got, err := os.ReadFile(filepath.Join(dir, "a.txt"))
				if want := map[bool]string{true: "hello bar\n", false: "hello foo\n"}[b.name == "ask"]; err != nil ||
					string(got) != want {
					t.Errorf("the file has %q (%v), want %q", got, err, want)
				}
			})
		}
	}
}

// replyOnce answers the pending ask of the home.
func replyOnce(t *testing.T, home, dir string) {
	t.Helper()
	id := regexp.MustCompile(`per_\w+`).FindString(runCairn(t, home, dir, "permission", "list"))
	runCairn(t, home, dir, "permission", "reply", id, "once")
}

// runCairn runs a command on the home and returns its standard output.
func runCairn(t *testing.T, home, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("cairn", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CAIRN_HOME="+home, "HOME="+home, "GORACE="+quick)
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return string(out)
}

// facesScript is what the model says: to some prompts it asks, to some it never ends.
const facesScript = `{"turns": [
	{"match": "edit it", "steps": [
		{"call": {"name": "edit", "arguments": {"filePath": "a.txt", "oldString": "foo", "newString": "bar"}}}]},
	{"match": "edit it", "steps": [{"text": "Edited."}]},
	{"match": "slow", "steps": [{"text": "One "}, {"delay": "1h"}]},
	{"match": "hang", "steps": [{"text": "One "}, {"delay": "1h"}]},
	{"repeat": true, "steps": [{"text": "Anything."}]}]}`

// newScriptedHome returns a new home, and a directory with a file, for processes whose model follows the script.
func newScriptedHome(t *testing.T, script string) (home, dir string) {
	t.Helper()
	dir = t.TempDir()
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello foo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeScript(t, dir, script)
	t.Setenv("CAIRN_SCRIPT", filepath.Join(dir, "script.json"))
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	return home, dir
}

func writeScript(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "script.json"), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// startOwner starts a server that owns the home, and returns when it answers.
func startOwner(t *testing.T, home, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cairn", "serve", "--json", "--socket-only")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CAIRN_HOME="+home, "HOME="+home, "GORACE="+quick)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if n, err := out.Read(make([]byte, 4096)); n == 0 {
		t.Fatalf("the server does not answer: %v", err)
	}
	return cmd
}
