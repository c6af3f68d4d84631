package exec_test

import (
	"cmp"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// newProtectedBench returns a Location whose protected names are .git/config, .git/hooks, .envrc, .vscode and
// .github/workflows.
func newProtectedBench(t *testing.T) *tooltest.Bench {
	t.Helper()
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	return newProtectedLocation(t)
}

// newProtectedLocation is newProtectedBench, also on systems without namespaces.
func newProtectedLocation(t *testing.T) *tooltest.Bench {
	t.Helper()
	b := tooltest.New(t, func(c *tooltest.Config) {
		withSupervisor(c)
		dir := c.Exec.Paths.Directory
		c.Exec.Sandbox = func(tool.CellRequest) (tool.Cell, error) {
			p := sandbox.Policy{Write: []string{dir}, Hide: []string{c.Exec.Outputs.Dir}, Network: true}
			for _, name := range []string{".git/config", ".git/hooks", ".envrc", ".vscode", ".github/workflows"} {
				p.ReadOnly = append(p.ReadOnly, filepath.Join(dir, name))
			}
			if path := filepath.Join(dir, "a", "b", ".vscode"); exists(path) {
				p.Nested = []string{path}
			}
			return tool.Cell{Policy: p, Held: filepath.Join(filepath.Dir(dir), "held")}, nil
		}
	})
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites}
	b.WriteFile(".git/config", "old\n")
	b.WriteFile(".git/hooks/pre-commit", "old\n")
	return b
}

// A protected file can be changed by a command whose request for it was answered, or that a rule allows, and by no
// other.
func TestApprovedProtectedFile(t *testing.T) {
	everything := session.Rule{Action: "*", Resource: "*", Effect: session.Allow}
	named := session.Rule{Action: "edit", Resource: ".git/config", Effect: session.Allow}
	for name, c := range map[string]struct {
		command    string
		rules      []session.Rule
		allowsEdit bool
		unread     bool
		want       string
	}{
		"named and refused":     {"echo new > .git/config", []session.Rule{everything}, false, false, "old\n"},
		"named and allowed":     {"echo new > .git/config", []session.Rule{everything, named}, false, false, "new\n"},
		"allowed by the policy": {"echo new > .git/config", []session.Rule{everything, named}, false, true, "old\n"},
		"not named":             {"sh write.sh", []session.Rule{everything}, false, false, "old\n"},
		"not named, with rule":  {"sh write.sh", []session.Rule{everything}, true, false, "new\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newProtectedBench(t)
			b.Rules, b.Confinement.Unread = c.rules, c.unread
			b.WriteFile("write.sh", "echo new > .git/config; echo new > .git/hooks/pre-commit\n")
			if c.allowsEdit {
				b.Confinement.AllowsEdit = func(resource string) bool { return resource == ".git/config" }
			}
			s := b.Call("bash", tooltest.Input{"command": c.command})
			if got := b.ReadFile(".git/config"); got != c.want {
				t.Errorf("the file is %q: %s", got, tooltest.TextOf(s))
			}
			if got := b.ReadFile(".git/hooks/pre-commit"); got != "old\n" {
				t.Errorf("the hook is %q: %s", got, tooltest.TextOf(s))
			}
		})
	}
}

// What a protected name leads to by a link is read-only: the request for it has another name, which does not ask.
func TestProtectedLink(t *testing.T) {
	b := newProtectedBench(t)
	b.WriteFile("settings/a", "old\n")
	b.Symlink("settings", ".vscode")
	b.WriteFile("write.sh", "echo new > .vscode/a\n")
	for _, command := range []string{"sh write.sh", "echo new > .vscode/a"} {
		s := b.Call("bash", tooltest.Input{"command": command})
		if got := b.ReadFile("settings/a"); got != "old\n" {
			t.Errorf("%s: the file is %q: %s", command, got, tooltest.TextOf(s))
		}
	}
}

// A new file with a protected name is moved away when the command, the job, or what it left behind ends.
func TestNewProtectedFile(t *testing.T) {
	b := newProtectedBench(t)
	b.WriteFile("write.sh", "mkdir .vscode; echo new > .vscode/tasks.json; ln -s x .envrc; echo ordinary > other\n")
	s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
	held, _ := filepath.Glob(b.OutsidePath("held/*/.vscode/tasks.json"))
	if len(held) != 1 {
		t.Fatalf("held: %q: %s", held, tooltest.TextOf(s))
	}
	tooltest.MustContain(t, tooltest.TextOf(s), b.Path(".envrc")+" was created", "moved to "+filepath.Dir(held[0]))
	for _, name := range []string{".vscode", ".envrc"} {
		if _, err := os.Lstat(b.Path(name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if b.ReadFile(held[0]) != "new\n" || b.ReadFile("other") != "ordinary\n" {
		t.Error("the files are not whole")
	}
	b.Confinement.AllowsEdit = func(resource string) bool { return resource == ".vscode/" }
	s = b.Call("bash", tooltest.Input{"command": "sh write.sh"})
	if text := tooltest.TextOf(s); b.ReadFile(".vscode/tasks.json") != "new\n" ||
		strings.Contains(text, ".vscode was") {
		t.Error("a rule allows it: ", text)
	}
}

// A link to nothing with a protected name stops no command, and writing through it is reported.
func TestProtectedLinkToNothing(t *testing.T) {
	b := newProtectedBench(t)
	b.Symlink("nothing", ".envrc")
	b.WriteFile("write.sh", "echo new > other; cat .git/config; test -z \"$1\" || echo new > .envrc\n")
	s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
	if text := tooltest.TextOf(s); text != "old\n" || b.ReadFile("other") != "new\n" {
		t.Fatal(text)
	}
	s = b.Call("bash", tooltest.Input{"command": "sh write.sh through"})
	tooltest.MustContain(t, tooltest.TextOf(s), b.Path(".envrc")+" was changed")
}

// What a command leaves behind makes no protected file either.
func TestLeftoverCreatesProtectedFile(t *testing.T) {
	b := newProtectedBench(t)
	b.WriteFile("write.sh", "until test -e go; do sleep 0.01; done; echo new > .envrc; touch done\n")
	b.Call("bash", tooltest.Input{"command": "sh write.sh > /dev/null 2>&1 &"})
	b.WriteFile("go", "")
	waitUntil(t, func() bool {
		held, _ := filepath.Glob(b.OutsidePath("held/*/.envrc"))
		return len(held) == 1
	})
	if _, err := os.Lstat(b.Path(".envrc")); err == nil {
		t.Error(".envrc is there")
	}
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen; left behind:\n%s", listSurvivors("write.sh"))
		}
	}
}

// What a command leaves behind has no protected file while it goes on.
func TestNewProtectedFileOfLeftover(t *testing.T) {
	b := newProtectedBench(t)
	b.WriteFile("write.sh", "until test -e go; do sleep 0.01; done; mkdir .vscode; echo new > .vscode/a; sleep 60\n")
	b.Call("bash", tooltest.Input{"command": "sh write.sh > /dev/null 2>&1 &"})
	b.WriteFile("go", "")
	waitUntil(t, func() bool {
		held, _ := filepath.Glob(b.OutsidePath("held/*/.vscode"))
		_, err := os.Lstat(b.Path(".vscode"))
		return len(held) > 0 && err != nil
	})
}

// The next result says what was held after its command had ended.
func TestLateNotes(t *testing.T) {
	b := newProtectedBench(t)
	b.WriteFile("write.sh", "until test -e go; do sleep 0.01; done; mkdir .vscode; echo new > .vscode/a\n")
	b.Call("bash", tooltest.Input{"command": "sh write.sh > /dev/null 2>&1 &"})
	b.WriteFile("go", "")
	waitUntil(t, func() bool { // else the guard of the next command may find it
		held, _ := filepath.Glob(b.OutsidePath("held/*/.vscode"))
		return len(held) > 0
	})
	waitUntil(t, func() bool {
		text := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "true"}))
		_, late, _ := strings.Cut(text, "After an earlier command")
		return strings.Contains(late, ".vscode was created, and moved to")
	})
}

// A name that exists through a new link is held as well, and what the link leads to outside stays.
func TestProtectedNameBehindLink(t *testing.T) {
	b := newProtectedBench(t)
	outside := b.OutsidePath("other")
	if err := os.MkdirAll(filepath.Join(outside, "workflows"), 0o700); err != nil {
		t.Fatal("make the directory:", err)
	}
	b.WriteFile("mine/workflows/ci.yml", "new\n")
	for _, target := range []string{outside, "mine"} {
		b.WriteFile("write.sh", "ln -s "+target+" .github\n")
		s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
		tooltest.MustContain(t, tooltest.TextOf(s), b.Path(".github/workflows")+" was created, and moved to")
		if _, err := os.Stat(filepath.Join(outside, "workflows")); err != nil {
			t.Errorf("a directory outside was moved: %s", tooltest.TextOf(s))
		}
		if _, err := os.Stat(b.Path(".github/workflows")); err == nil {
			t.Errorf("the name is there: %s", tooltest.TextOf(s))
		}
		_ = os.Remove(b.Path(".github"))
	}
}

// A protected name deeper in the project is read-only, its directories can be moved, and another one in its place is
// reported.
func TestNestedProtectedName(t *testing.T) {
	for script, want := range map[string]string{
		"echo new > a/b/.vscode/tasks":             "ead-only file system",
		"rm -r a/b/.vscode":                        "ead-only file system",
		"mv a/b/.vscode a/b/other":                 "resource busy",
		"mv a/b c; echo new > c/.vscode/tasks":     "ead-only file system",
		"mv a/b/f a/f; mv a/f f; mv a c":           "(no output)",
		"mv a c; mkdir -p a/b/.vscode; echo x > f": "a/b/.vscode was changed",
	} {
		b := newProtectedBench(t)
		b.WriteFile("a/b/.vscode/tasks", "old\n")
		b.WriteFile("a/b/f", "")
		b.WriteFile("write.sh", script)
		s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
		text := tooltest.TextOf(s)
		if tooltest.MustContain(t, text, want); want == "(no output)" && text != want {
			t.Errorf("%s: %s", script, text)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Protected files are guarded to the end also if the server ends before the command or its background processes.
func TestProtectedFilesWithoutServer(t *testing.T) {
	for name, script := range map[string]string{
		"command": "touch started go; sh write.sh; sleep 600",
		"left over": "touch started; " +
			"{ sh write.sh; until test -e end || test ! -e started; do sleep 0.01; done; } > /dev/null 2>&1 &",
		"ended": "sh write.sh > /dev/null 2>&1 & touch started",
	} {
		t.Run(name, func(t *testing.T) {
			b := newProtectedBench(t)
			held := b.OutsidePath("held")
			b.WriteFile("write.sh", "until test -e go; do sleep 0.01; done; echo new > .envrc; touch done\n")
			server := osexec.Command(os.Args[0], serverWord, b.Dir, script, held)
			if err := server.Start(); err != nil {
				t.Fatal("start the server:", err)
			}
			waitUntil(t, func() bool { return exists(b.Path("started")) })
			if name == "command" {
				waitUntil(t, func() bool { return exists(b.Path("done")) })
				_ = server.Process.Kill()
			}
			_ = server.Wait()
			b.WriteFile("go", "")
			waitUntil(t, func() bool {
				found, _ := filepath.Glob(filepath.Join(held, "*", ".envrc"))
				return len(found) == 1 && !exists(b.Path(".envrc"))
			})
			b.WriteFile("end", "")
		})
	}
}

// Where no namespace can be made, a protected file that a command changed is restored, its new version is held, and the
// modes that need a namespace run nothing.
func TestProtectedFilesWithoutNamespaces(t *testing.T) {
	if !sandboxtest.RunWithoutNamespaces(t) {
		return
	}
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := newProtectedLocation(t)
	b.WriteFile("write.sh", "echo new > .git/config; echo new > .git/hooks/post-commit\n"+
		"echo new > .envrc; echo x > ran\n")
	s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
	tooltest.MustContain(t, tooltest.TextOf(s), b.Path(".git/config")+" was changed, and moved to",
		b.Path(".git/hooks")+" was changed, and moved to", b.Path(".envrc")+" was created, and moved to", "it is as before")
	if b.ReadFile(".git/config") != "old\n" || b.ReadFile(".git/hooks/pre-commit") != "old\n" ||
		exists(b.Path(".git/hooks/post-commit")) || exists(b.Path(".envrc")) || b.ReadFile("ran") != "x\n" {
		t.Error("not restored: ", tooltest.TextOf(s))
	}
	if held, _ := filepath.Glob(b.OutsidePath("held/*/config")); len(held) != 1 || b.ReadFile(held[0]) != "new\n" {
		t.Errorf("held: %q", held)
	}
	for name, as := range map[string]tool.Confinement{
		"strict": {Mode: session.SandboxStrict}, "plan": {Mode: session.SandboxWrites, ReadOnly: true},
	} {
		b.Confinement = as
		s := b.Call("bash", tooltest.Input{"command": "touch by-" + name})
		tooltest.MustContain(t, tooltest.TextOf(s), "No command was run", "permits no mount namespace")
		if exists(b.Path("by-" + name)) {
			t.Errorf("%s: it ran", name)
		}
	}
}

// Protected files that cannot be moved away make the next command ask, also if a process did it that was left behind.
func TestExposedFilesAsk(t *testing.T) {
	for name, line := range map[string]string{
		"call":     "touch go; sh write.sh",
		"leftover": "setsid sh write.sh > /dev/null 2>&1 &",
	} {
		t.Run(name, func(t *testing.T) {
			b := newProtectedBench(t)
			b.WriteFile("write.sh", "until test -e go; do sleep 0.01; done; mkdir .vscode; echo new > .vscode/a; touch done\n")
			b.WriteFile("../held", "") // no folder can be made here
			b.Call("bash", tooltest.Input{"command": line})
			b.WriteFile("go", "")
			waitUntil(t, func() bool { _, err := os.Stat(b.Path("done")); return err == nil })
			waitUntil(t, func() bool {
				b.TakeRequests()
				b.Call("bash", tooltest.Input{"command": "true"})
				return slices.Contains(b.TakeRequests(), "edit .vscode")
			})
		})
	}
}
