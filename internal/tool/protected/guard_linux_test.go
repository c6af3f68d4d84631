package protected

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"
)

// guardBench is a directory with a guard of some of its paths.
type guardBench struct {
	dir, held string
	config    Config
}

func newGuardBench(t *testing.T, paths ...string) *guardBench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal("resolve the directory:", err)
	}
	b := &guardBench{dir: filepath.Join(top, "work"), held: filepath.Join(top, "held")}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+rwx", top).Run() })
	b.config = Config{Held: b.held, Writable: []string{b.dir}}
	for _, path := range paths {
		b.config.Paths = append(b.config.Paths, filepath.Join(b.dir, path))
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal("make the directory:", err)
	}
	return b
}

// run runs a script in the directory.
func (b *guardBench) run(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "HOME="+b.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// sendGuard returns the guard as a supervisor gets it.
func sendGuard(t *testing.T, g *FileGuard) *FileGuard {
	t.Helper()
	text, err := json.Marshal(g)
	var out FileGuard
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal("send the guard:", err)
	}
	return &out
}

// New targets of links and files in the places of nested ones are moved away where the kernel keeps existing paths.
func TestTrustKernel(t *testing.T) {
	b := newGuardBench(t, ".envrc", "config")
	b.config.Nested = []string{filepath.Join(b.dir, "a/.vscode")}
	b.run(t, "mkdir -p a/.vscode; echo old > config; ln -s missing .envrc")
	g := sendGuard(t, New(b.config).TrustKernel())
	b.run(t, "mv a moved; mkdir -p a/.vscode; echo new > .envrc; echo new > config")
	found := g.Check()
	for path, want := range map[string]bool{".envrc": true, "a/.vscode": true, "config": false} {
		if got := strings.Contains(found.Note, filepath.Join(b.dir, path)+" was changed, and moved to"); got != want {
			t.Errorf("%s reported: %t, want %t: %s", path, got, want, found.Note)
		}
	}
	got := b.run(t, "cat .envrc a/.vscode missing 2>&1 || true")
	if strings.Contains(got, "new") || found.Exposed != nil {
		t.Errorf("%s: %+v", got, found)
	}
}

// New files are moved away whatever the modes of the directories around them, and these get their modes back.
func TestHoldWithoutPermission(t *testing.T) {
	for _, script := range []string{
		"mkdir .git; echo x > .git/commondir; chmod 555 .git",
		"mkdir .git; echo x > .git/commondir; chmod 000 .git",
		"echo x > .envrc; chmod 555 .", "echo x > .envrc; chmod 000 .envrc; chmod 000 .",
		"mkdir -p .vscode/a; echo x > .vscode/a/b; chmod 000 .vscode/a/b .vscode/a .vscode",
		"mkdir -p .vscode; mkfifo .vscode/f; echo x > .vscode/g; chmod 500 .vscode",
	} {
		b := newGuardBench(t, ".envrc", ".git/commondir", ".vscode")
		g := sendGuard(t, New(b.config))
		b.run(t, script)
		before := b.listModes(t)
		found := g.Check()
		left := removeLines(before, "commondir", ".envrc", ".vscode")
		if after := b.listModes(t); !strings.Contains(found.Note, "was created, and moved to "+b.held) ||
			found.Exposed != nil || strings.TrimSpace(after) != strings.TrimSpace(left) {
			t.Errorf("%s: %+v\n%s\nto\n%s", script, found, before, after)
		}
		if again := g.Check(); again.Note != "" {
			t.Errorf("%s: again %s", script, again.Note)
		}
	}
}

// listModes lists the files with their modes as the superuser, or as far as their owner can.
func (b *guardBench) listModes(t *testing.T) string {
	t.Helper()
	out, _ := exec.Command("find", b.dir, "-printf", "%P %m\n").Output()
	return string(out)
}

func removeLines(text string, with ...string) string {
	var kept []string
	for line := range strings.Lines(text) {
		isKept := true
		for _, w := range with {
			isKept = isKept && !strings.Contains(line, w)
		}
		if isKept {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Files that cannot be moved away are reported as exposed.
func TestExposedFiles(t *testing.T) {
	b := newGuardBench(t, ".envrc", ".idea")
	b.config.Held = filepath.Join(b.dir, "file", "held")
	b.run(t, "mkdir .idea; head -c 5M /dev/zero > .idea/a; touch file")
	g := New(b.config)
	g.SaveContent()
	g = sendGuard(t, g)
	b.run(t, "echo x > .envrc; echo x >> .idea/a")
	found := g.Check()
	want := []string{filepath.Join(b.dir, ".envrc"), filepath.Join(b.dir, ".idea")}
	if strings.Join(found.Exposed, " ") != strings.Join(want, " ") ||
		!strings.Contains(found.Note, "larger than what is copied") {
		t.Errorf("%+v", found)
	}
}

// Without a kernel that keeps them, changed files are restored from copies, and the changed ones are held.
func TestRestore(t *testing.T) {
	const list = "find . -printf '%P %m %l\n' | sort; cat .git/config .git/hooks/* settings/a .envrc"
	for script, note := range map[string]string{
		"echo new >> .git/config":                                   ".git/config was changed, and moved to",
		"rm .git/config":                                            ".git/config was removed; it is as before",
		"chmod 600 .git/hooks/pre-commit":                           ".git/hooks was changed, and moved to",
		"echo new > .git/hooks/post; rm .git/hooks/pre-commit":      ".git/hooks was changed, and moved to",
		"echo new > settings/a":                                     ".vscode was changed, and moved to",
		"rm .vscode; mkdir .vscode; echo x > .vscode/a":             ".vscode was changed, and moved to",
		"rm .vscode; ln -s .git .vscode":                            ".vscode was changed, and moved to",
		"rm .vscode; ln -s .git .vscode; echo x > settings/a":       ".vscode was changed, and moved to",
		"ln .git/config hard; echo new > hard; rm hard":             ".git/config was changed, and moved to",
		"echo new >> .git/config; chmod 555 .git":                   ".git/config was changed, and moved to",
		"touch .git/config; touch -d '1 day ago' .envrc settings/a": "",
	} {
		b := newGuardBench(t, ".git/config", ".git/hooks", ".vscode", ".envrc")
		b.run(t, `mkdir -p .git/hooks settings; echo old > .git/config; echo old > .git/hooks/pre-commit
			chmod 755 .git/hooks/pre-commit; ln -s pre-commit .git/hooks/link; echo old > settings/a; ln -s settings .vscode
			chmod 640 .git/config; : > .envrc`)
		before := b.run(t, list)
		g := New(b.config)
		g.SaveContent()
		g = sendGuard(t, g)
		b.run(t, script)
		found := g.Check()
		b.run(t, "chmod 755 .git")
		if after := b.run(t, list); after != before || found.Exposed != nil {
			t.Errorf("%s: from\n%s\nto\n%s\n%+v", script, before, after, found)
		}
		if !strings.Contains(found.Note, note) || note == "" && found.Note != "" {
			t.Errorf("%s: %+v", script, found)
		}
		if again := g.Check(); again.Note != "" {
			t.Errorf("%s: again %s", script, again.Note)
		}
	}
}

// Files that lead git elsewhere are moved away, and those that git writes for worktrees and submodules stay.
func TestForgedGitLinks(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for script, want := range map[string]string{
		"git worktree add -q wt; git -C wt status":                            "",
		"git worktree add -q old; git -C old status":                          "", // an existing empty directory
		"git init -q sub; git init -q -b x new":                               "",
		"git clone -q . clone; git clone -q . old":                            "",
		"git submodule --quiet add ./part in/part":                            "",
		"git submodule --quiet add --name a/b ./part sub/part":                "",
		"git worktree add -q wt; echo ../../ev > .git/worktrees/wt/commondir": ".git/worktrees/wt/commondir",
		"git worktree add -q wt; echo $PWD/sub/.git > .git/worktrees/wt/gitdir; echo gitdir: ../ev > sub/.git": "" +
			"sub/.git .git/worktrees/wt/gitdir",
		"git worktree add -q wt; echo x > .git/worktrees/wt/config.worktree": ".git/worktrees/wt/config.worktree",
		"git worktree add -q wt; git worktree remove wt":                     "",
		"echo gitdir: ../ev > sub/.git":                                      "sub/.git",
		"echo gitdir: $PWD/.git > sub/.git":                                  "sub/.git",
		"ln -s ../ev sub/.git":                                               "sub/.git",
		"cp -r .git ev; git config -f ev/config core.worktree ../sub; " +
			"echo gitdir: ../ev > sub/.git": "sub/.git",
		"mkdir -p .git/modules/a; cp -r .git/HEAD .git/objects .git/refs .git/modules/a; " +
			"git config -f .git/modules/a/config core.worktree ../../../sub; " +
			"echo gitdir: ../.git/modules/a > sub/.git": "sub/.git",
		"git init -q sub; echo ../../ev > sub/.git/commondir": "sub/.git/commondir",
		"git submodule --quiet add ./part in/part; echo ../../../ev > .git/modules/in/part/commondir": "" +
			".git/modules/in/part/commondir",
	} {
		b := newGuardBench(t)
		b.run(t, `git init -q .; git commit -q --allow-empty -m a; mkdir -p sub old ev
			git init -q part; git -C part commit -q --allow-empty -m a; git config --global protocol.file.allow always`)
		b.config.Repositories = []string{filepath.Join(b.dir, ".git")}
		b.config.Folders = []string{b.dir, filepath.Join(b.dir, "sub"), filepath.Join(b.dir, "old")}
		g := sendGuard(t, New(b.config))
		b.run(t, script)
		found := g.Check()
		for path := range strings.FieldsSeq(want) {
			if _, err := os.Lstat(filepath.Join(b.dir, path)); err == nil ||
				!strings.Contains(found.Note, filepath.Join(b.dir, path)+" was created, and moved to") {
				t.Errorf("%s: %s: %v %+v", script, path, err, found)
			}
		}
		if want == "" && found.Note != "" {
			t.Errorf("%s: %+v", script, found)
		}
	}
}

// TestAsUser runs the tests above as a user whom modes of files stop.
func TestAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests ran without privileges")
	}
	dir, err := os.MkdirTemp("/tmp", "protected")
	if err != nil {
		t.Fatal("make the directory:", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const user = 12345
	self := filepath.Join(dir, "protected.test")
	bin, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(self, bin, 0o755), os.Chown(dir, user, user)) //nolint:gosec // another user runs it
	}
	if err != nil {
		t.Fatal("copy the program:", err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^Test(Hold|Restore|Trust|Exposed)")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
