package exec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
)

// A command with too many processes is ended with all of them and says so. The scripts stop by themselves at 511
// processes.
func TestTooManyProcesses(t *testing.T) {
	few := func(c *tooltest.Config) { c.Exec.Processes = 100 }
	for name, script := range map[string]string{
		"at once":         "for i in $(seq 300); do sleep %s & done; wait",
		"tree":            "f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & fi; sleep %s; }; f 8",
		"in sessions":     "for i in $(seq 300); do setsid sleep %s & done; wait",
		"without a trace": "for i in $(seq 300); do (env -i setsid sleep %s &) ; done; sleep %s",
		"ignores TERM":    "trap '' TERM; for i in $(seq 300); do sleep %s & done; wait",
		"in a job":        "(for i in $(seq 300); do sleep %s & done) & sleep %s",
	} {
		t.Run(name, func(t *testing.T) {
			seconds := sleepTime()
			b := tooltest.New(t, withSupervisor, few)
			s := b.Call("bash", tooltest.Input{"command": strings.ReplaceAll(script, "%s", seconds), "timeout": 300_000})
			if n := countSleepers(t, seconds); n != 0 {
				t.Errorf("%d survivors", n)
			}
			if got := tooltest.TextOf(s); s.Error != nil ||
				!strings.Contains(
					got, "cairn: the command was ended because it had ",
				) || !strings.Contains(got, "the limit is 100\n") {
				t.Error(got)
			}
		})
	}
	for _, n := range []int{50, 90} {
		b := tooltest.New(t, withSupervisor, few)
		s := b.Call(
			"bash", tooltest.Input{"command": fmt.Sprintf("for i in $(seq %d); do sleep 0.4 & done; wait; echo done", n)},
		)
		if tooltest.TextOf(s) != "done\n" {
			t.Error(tooltest.TextOf(s))
		}
	}
}

// The kernel ends commands, and what they leave in the background, before the server when memory runs out.
func TestCommandsEndFirstWithoutMemory(t *testing.T) {
	b := tooltest.New(t, withSupervisor)
	b.Rules = reachesProc
	s := b.Call("bash", tooltest.Input{"command": "cat /proc/self/oom_score_adj; setsid cat /proc/self/oom_score_adj"})
	if got := tooltest.TextOf(s); got != "500\n500\n" {
		t.Errorf("oom_score_adj of commands: %q", got)
	}
}
