package exec_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// withSandbox runs commands in a sandbox around the Location.
func withSandbox(c *tooltest.Config) {
	withSupervisor(c)
	c.Exec.Sandbox = cellOf(sandbox.Policy{Write: []string{c.Exec.Paths.Directory}, Hide: []string{c.Exec.Outputs.Dir}})
}

func cellOf(p sandbox.Policy) func(tool.CellRequest) (tool.Cell, error) {
	return func(r tool.CellRequest) (tool.Cell, error) {
		granted := p
		granted.Write = slices.Concat(p.Write, r.Granted)
		return tool.Cell{Policy: granted}, nil
	}
}

// strict confines the commands of a bench.
var strict = tool.Confinement{Mode: session.SandboxStrict}

// A command that is confined only if that is possible runs on a system without a sandbox, too, and the result says
// so; one that fails in the sandbox for it says what the sandbox is.
func TestUnaskedCommands(t *testing.T) {
	b := tooltest.New(t)
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	s := b.Call("bash", tooltest.Input{"command": "echo ran"})
	tooltest.MustContain(t, tooltest.TextOf(s), "ran", "No sandbox confines the commands here")
	s = b.Call("bash", tooltest.Input{"command": "echo again"})
	if text := tooltest.TextOf(s); strings.Contains(text, "No sandbox") {
		t.Errorf("it says so twice: %s", text)
	}
	if got := tooltest.Member(t, s.Output.Structured, "sandbox"); got != `"off"` {
		t.Errorf("sandbox %s", got)
	}
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b = tooltest.New(t, withSandbox)
	b.Rules = tooltest.AllowAll[:1]
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	s = b.Call("bash", tooltest.Input{"command": "f=" + b.OutsidePath("new") + "; echo x > $f"})
	tooltest.MustContain(t, tooltest.TextOf(s), "It ran in the sandbox (writes)", b.Dir)
	if got := tooltest.Member(t, s.Output.Structured, "sandbox"); got != `"writes"` {
		t.Errorf("sandbox %s", got)
	}
	if _, err := os.Stat(b.OutsidePath("new")); err == nil {
		t.Error("it wrote outside")
	}
	s = b.Call("bash", tooltest.Input{"command": "echo could not write config file: Device or resource busy"}) // as git
	tooltest.MustContain(t, tooltest.TextOf(s), "call git remote, config, push -u and the like as plain lines")
}

// A confined command cannot signal its supervisor, which ends what it leaves behind.
func TestConfinedCommandsCannotSignalTheSupervisor(t *testing.T) {
	if err := cmp.Or(sandbox.Check(), sandbox.CheckSignals()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withSandbox)
	b.Rules, b.Confinement = tooltest.AllowAll[:1], strict
	for range 30 {
		s := b.Call("bash", tooltest.Input{"command": "kill -0 $PPID && echo reached; true"})
		if strings.Contains(tooltest.TextOf(s), "reached") {
			t.Fatal(tooltest.TextOf(s))
		}
	}
}

// withProtection makes a file of the Location read-only as well.
func withProtection(c *tooltest.Config) {
	withSupervisor(c)
	c.Exec.Sandbox = cellOf(sandbox.Policy{
		Write: []string{c.Exec.Paths.Directory}, Hide: []string{c.Exec.Outputs.Dir},
		ReadOnly: []string{filepath.Join(c.Exec.Paths.Directory, ".git", "config")},
	})
}

// A protected file is read-only for a command and for what it leaves behind.
func TestBashWithProtectedFiles(t *testing.T) {
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withProtection)
	b.Confinement = strict
	b.WriteFile(".git/config", "old\n")
	b.WriteFile("write.sh", "echo new > .git/config; mv .git other; echo in > .git/HEAD && cat .git/HEAD")
	s := b.Call("bash", tooltest.Input{"command": "sh write.sh"})
	tooltest.MustContain(t, tooltest.TextOf(s), "Read-only file system", "Device or resource busy", "in\n")
	if got := b.ReadFile(b.Path(".git/config")); got != "old\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestBashInSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withSandbox)
	b.Confinement = strict
	b.Rules = tooltest.AllowAll[:1] // paths outside, too
	if s := b.Call(
		"bash", tooltest.Input{"command": "echo in > new && cat new; exit 3"},
	); !strings.Contains(tooltest.TextOf(s), "in\n") || tooltest.Member(t, s.Output.Structured, "exit") != "3" {
		t.Errorf("%s %s", tooltest.TextOf(s), s.Output.Structured)
	}
	if s := b.Call(
		"bash", tooltest.Input{"command": "f=" + b.OutsidePath("new") + "; echo out > $f"},
	); !strings.Contains(tooltest.TextOf(s), "Permission denied") {
		t.Error(tooltest.TextOf(s))
	}
	if _, err := os.Stat(b.OutsidePath("new")); err == nil {
		t.Error("it wrote outside")
	}
	tooltest.MustContain(t, bashDescription(b), "they write only below the project's directory")
}

// Commands in the sandbox end as others do.
func TestSandboxLeavesNothingBehind(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for _, name := range []string{"plain", "double fork", "own session, TERM ignored", "hundred"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := tooltest.New(t, withSandbox)
			b.Confinement = strict
			checkNothingSurvives(t, b, processTrees[name], "timeout")
		})
	}
}

// If the sandbox is not available, no command runs, and the error says why.
func TestNoCommandWithoutSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		b := tooltest.New(t, withSandbox)
		b.Confinement = strict
		tooltest.MustContain(
			t,
			tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "touch ran"})),
			"No command was run",
			err.Error(),
		)
		return
	}
	for want, change := range map[string]func(*tooltest.Config){
		"cannot start itself": func(c *tooltest.Config) { withSandbox(c); c.Exec.Supervisor = nil },
		"it cannot hide": func(c *tooltest.Config) {
			withSandbox(c)
			dir := c.Exec.Paths.Directory
			c.Exec.Sandbox = cellOf(sandbox.Policy{Write: []string{dir}, Hide: []string{dir + "/data"}})
		},
	} {
		b := tooltest.New(t, change)
		b.Confinement = strict
		tooltest.MustContain(
			t, tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "touch ran"})), "No command was run", want,
		)
		if left, _ := os.ReadDir(b.Dir); len(left) != 0 {
			t.Error("it ran")
		}
	}
}

// What rules cannot see where all commands are allowed, the sandbox stops: writes outside and to protected files whose
// paths do not stand in the line. Without a sandbox they are done.
func TestHiddenPathsAreConfined(t *testing.T) {
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for _, confined := range []bool{false, true} {
		b := tooltest.New(t, withProtection)
		b.Rules = tooltest.AllowAll[:1]
		if confined {
			b.Confinement = tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
		}
		for _, command := range []string{
			`d=..; { echo x; } > $d/new`, `eval 'echo x > .'"$(echo ./new)"`, `cd "$(echo ..)" && echo x > new`,
			`sh -c 'echo x > "$1$1/n"ew' _ .`, "cat > .$(echo ./new) <<E\nx\nE",
			`d=.gi; { echo x; } > ${d}t/config`, `cd ."$(echo g)"it && echo x > config`, `tee ."$(echo g)"it/config <<< x`,
		} {
			b.WriteFile(".git/config", "")
			s := b.Call("bash", tooltest.Input{"command": command})
			_, err := os.Stat(b.OutsidePath("new"))
			wrote := err == nil || b.ReadFile(".git/config") != ""
			if s.Denial != nil || wrote == confined {
				t.Errorf("confined %t: %s: wrote %t: %s", confined, command, wrote, tooltest.TextOf(s))
			}
			_ = os.Remove(b.OutsidePath("new"))
		}
	}
}

// Commands that may change nothing change no content, mode, time, owner or attribute of any file, and write temporary
// files.
func TestCommandsChangeNothing(t *testing.T) {
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	var own string
	b := tooltest.New(t, withSupervisor, func(c *tooltest.Config) {
		dir := c.Exec.Paths.Directory
		own = filepath.Join(filepath.Dir(dir), "own")
		p := sandbox.Policy{Write: []string{dir, own}, Hide: []string{c.Exec.Outputs.Dir}, Network: true}
		c.Exec.Sandbox = func(tool.CellRequest) (tool.Cell, error) {
			return tool.Cell{Policy: p, Own: []string{own}, Env: []string{"TMPDIR=" + own}}, os.MkdirAll(own, 0o700)
		}
	})
	b.Rules = tooltest.AllowAll[:1]
	b.Confinement = tool.Confinement{Mode: session.SandboxWrites, ReadOnly: true}
	b.WriteFile("a", "old\n")
	b.WriteFile(b.OutsidePath("home/a"), "old\n")
	for _, name := range []string{b.Path("a"), b.OutsidePath("home/a")} {
		before, err := os.Stat(name)
		if err != nil {
			t.Fatal("read the file:", err)
		}
		b.WriteFile("change.sh", "chmod 700 $1; touch -d 2001-01-01 $1; chown 1:1 $1; echo new > $1; touch $1.new\n"+
			"setfattr -n user.a -v b $1; echo temporary > $TMPDIR/x && chmod 600 $TMPDIR/x && cat $TMPDIR/x\n")
		text := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "sh change.sh " + name}))
		after, err := os.Stat(name)
		if err != nil || protected.ChangeTime(after) != protected.ChangeTime(before) || exists(name+".new") {
			t.Errorf("%s changed: %s", name, text)
		}
		tooltest.MustContain(t, text, "temporary", "ead-only file system")
	}
}
