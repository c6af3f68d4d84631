package builtin_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool"
)

// leftovers are ways to go on when the call has ended, also without its mark. %s is how long to sleep.
var leftovers = map[string]string{
	"plain":                 "sleep %s >/dev/null 2>&1 &",
	"own session":           "setsid sleep %s >/dev/null 2>&1 &",
	"double fork":           "(setsid sleep %s >/dev/null 2>&1 &)",
	"no mark":               "env -i /bin/bash -c '(sleep %s) &' </dev/null >/dev/null 2>&1",
	"own session, no mark":  "setsid env -i /bin/bash -c 'sleep %s; true' </dev/null >/dev/null 2>&1 &",
	"disowned, no mark":     "setsid env -i /bin/bash -c '(sleep %s; true) & disown' </dev/null >/dev/null 2>&1 &",
	"holds output, no mark": "env -i setsid sleep %s & exit 3",
}

// What a command leaves behind has a process of the call above it, by which the server knows it as a tool's.
func TestWhatIsLeftIsKnown(t *testing.T) {
	for name, script := range leftovers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, supervised)
			b.rules = reachesProc
			seconds := sleepTime()
			endSleepers(t, seconds)
			s := b.call("bash", in{"command": strings.ReplaceAll(script, "%s", seconds)})
			if failed := strings.Contains(says(s), "exit code 3"); s.Error != nil || failed != strings.Contains(script, "exit 3") {
				t.Fatal(says(s))
			}
			wait(t, "it to sleep", func() bool { return sleeper(seconds) != 0 })
			if above := ancestors(sleeper(seconds)); !slices.Contains(above, os.Getpid()) {
				t.Errorf("above what is left are %v, without us, %d", above, os.Getpid())
			}
		})
		t.Run(name+", server gone", func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			seconds := sleepTime()
			endSleepers(t, seconds)
			if err := exec.Command(os.Args[0], serverWord, b.dir, strings.ReplaceAll(script, "%s", seconds)).Run(); err != nil {
				t.Fatal(err)
			}
			wait(t, "it to sleep", func() bool { return sleeper(seconds) != 0 })
			if above := ancestors(sleeper(seconds)); !slices.ContainsFunc(above, marked) {
				t.Errorf("of %v, above what is left, none bears a mark", above)
			}
		})
	}
}

// sleeper returns a process that sleeps for so long, 0 if there is none.
func sleeper(seconds string) int {
	for _, q := range proctable.List() {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", q.PID)); err == nil && string(line) == "sleep\x00"+seconds+"\x00" {
			return q.PID
		}
	}
	return 0
}

// ancestors returns a process and all above it.
func ancestors(pid int) (above []int) {
	parents := map[int]int{}
	for _, q := range proctable.List() {
		parents[q.PID] = q.Parent
	}
	for ; pid > 1; pid = parents[pid] {
		above = append(above, pid)
	}
	return above
}

func marked(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(env, []byte(tool.CallVariable+"="))
}
