package exec_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/tooltest"
)

// withSandbox runs commands in a sandbox around the Location.
func withSandbox(c *tooltest.Config) {
	withSupervisor(c)
	c.Exec.Sandbox = &sandbox.Policy{Write: []string{c.Exec.Paths.Directory}, Hide: []string{c.Exec.Outputs.Dir}}
}

func TestBashInSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := tooltest.New(t, withSandbox)
	b.Rules = tooltest.AllowAll[:1] // paths outside, too
	if s := b.Call(
		"bash", tooltest.Input{"command": "echo in > new && cat new; exit 3"},
	); !strings.Contains(tooltest.TextOf(s), "in\n") || tooltest.Member(t, s.Output.Structured, "exit") != "3" {
		t.Errorf("%s %s", tooltest.TextOf(s), s.Output.Structured)
	}
	if s := b.Call(
		"bash", tooltest.Input{"command": "echo out > " + b.OutsidePath("new")},
	); !strings.Contains(tooltest.TextOf(s), "Permission denied") {
		t.Error(tooltest.TextOf(s))
	}
	if _, err := os.Stat(b.OutsidePath("new")); err == nil {
		t.Error("it wrote outside")
	}
	def, _ := b.Set.Definition("bash")
	tooltest.MustContain(t, def.Description, "they write only below "+b.Dir, "no network")
}

// Commands in the sandbox end as others do.
func TestSandboxLeavesNothingBehind(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for _, name := range []string{"plain", "double fork", "own session, TERM ignored", "hundred"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkNothingSurvives(t, tooltest.New(t, withSandbox), processTrees[name], "timeout")
		})
	}
}

// If the sandbox is not available, no command runs, and the error says why.
func TestNoCommandWithoutSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		b := tooltest.New(t, withSandbox)
		tooltest.MustContain(
			t, tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "touch ran"})), "No command was run", err.Error(),
		)
		return
	}
	for want, change := range map[string]func(*tooltest.Config){
		"cannot start itself": func(c *tooltest.Config) { withSandbox(c); c.Exec.Supervisor = nil },
		"it cannot hide": func(c *tooltest.Config) {
			withSandbox(c)
			c.Exec.Sandbox.Hide = []string{c.Exec.Paths.Directory + "/data"}
		},
	} {
		b := tooltest.New(t, change)
		tooltest.MustContain(
			t, tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "touch ran"})), "No command was run", want,
		)
		if left, _ := os.ReadDir(b.Dir); len(left) != 0 {
			t.Error("it ran")
		}
	}
}
