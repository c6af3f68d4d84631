package builtin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/builtin"
)

// confined makes a bench run its commands in a sandbox around its directory.
func confined(c *builtin.Config) {
	supervised(c)
	c.Sandbox = &sandbox.Policy{Write: []string{c.Directory}, Hide: []string{c.Outputs.Dir}}
}

func TestBashInSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	b := newBench(t, confined)
	b.rules = allowAll[:1] // also what is outside
	if s := b.call("bash", in{"command": "echo in > new && cat new; exit 3"}); !strings.Contains(says(s), "in\n") || member(t, s.Output.Structured, "exit") != "3" {
		t.Errorf("%s %s", says(s), s.Output.Structured)
	}
	if s := b.call("bash", in{"command": "echo out > " + b.outside("new")}); !strings.Contains(says(s), "Permission denied") {
		t.Error(says(s))
	}
	if _, err := os.Stat(b.outside("new")); err == nil {
		t.Error("it wrote outside")
	}
	def, _ := b.set.Definition("bash")
	mustHave(t, def.Description, "they write only below "+b.dir, "no network")
}

// The sandbox changes nothing of how commands end.
func TestSandboxLeavesNothingBehind(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for _, name := range []string{"plain", "double fork", "own session, TERM ignored", "hundred"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leavesNothing(t, newBench(t, confined), shapes[name], "timeout")
		})
	}
}

// What was asked for and cannot be had is said, and no command runs.
func TestNoCommandWithoutItsSandbox(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		b := newBench(t, confined)
		mustHave(t, says(b.call("bash", in{"command": "touch ran"})), "No command is run", err.Error())
		return
	}
	for want, change := range map[string]func(*builtin.Config){
		"cannot start itself": func(c *builtin.Config) { confined(c); c.Supervisor = nil },
		"it cannot hide": func(c *builtin.Config) {
			confined(c)
			c.Sandbox.Hide = []string{c.Directory + "/data"}
		},
	} {
		b := newBench(t, change)
		mustHave(t, says(b.call("bash", in{"command": "touch ran"})), "No command is run", want)
		if left, _ := os.ReadDir(b.dir); len(left) != 0 {
			t.Error("it ran")
		}
	}
}
