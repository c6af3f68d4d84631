package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
)

// backgroundScripts leave a process behind after the call, also without the call's variable. %s is the time to sleep.
var backgroundScripts = map[string]string{
	"plain":                 "sleep %s >/dev/null 2>&1 &",
	"own session":           "setsid sleep %s >/dev/null 2>&1 &",
	"double fork":           "(setsid sleep %s >/dev/null 2>&1 &)",
	"no mark":               "env -i bash -c '(sleep %s) &' </dev/null >/dev/null 2>&1",
	"own session, no mark":  "setsid env -i bash -c 'sleep %s; true' </dev/null >/dev/null 2>&1 &",
	"disowned, no mark":     "setsid env -i bash -c '(sleep %s; true) & disown' </dev/null >/dev/null 2>&1 &",
	"holds output, no mark": "env -i setsid sleep %s & exit 3",
}

// A process that a command leaves behind has the call's supervisor above it, by which the server identifies it.
func TestBackgroundProcessesAreIdentified(t *testing.T) {
	for name, script := range backgroundScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := tooltest.New(t, withSupervisor)
			b.Rules = reachesProc
			seconds := sleepTime()
			killSleepersAtEnd(t, seconds)
			s := b.Call("bash", tooltest.Input{"command": strings.ReplaceAll(script, "%s", seconds)})
			if failed := strings.Contains(tooltest.TextOf(s), "exit code 3"); s.Error != nil ||
				failed != strings.Contains(script, "exit 3") {
				t.Fatal(tooltest.TextOf(s))
			}
			waitFor(t, "it to sleep", func() bool { return findSleeper(seconds) != 0 })
			if above := listAncestors(findSleeper(seconds)); !slices.Contains(above, os.Getpid()) {
				t.Errorf("above what is left are %v, without us, %d", above, os.Getpid())
			}
			if mark, ok := proctable.CallMark(findSleeper(seconds)); !ok || mark >= proctable.OwnCallMark() {
				t.Errorf("what is left has the mark %d", mark)
			}
		})
		t.Run(name+", server gone", func(t *testing.T) {
			t.Parallel()
			b := tooltest.New(t)
			seconds := sleepTime()
			killSleepersAtEnd(t, seconds)
			if err := osexec.Command(
				os.Args[0], serverWord, b.Dir, strings.ReplaceAll(script, "%s", seconds),
			).Run(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "it to sleep", func() bool { return findSleeper(seconds) != 0 })
			if mark, ok := proctable.CallMark(findSleeper(seconds)); !ok || mark >= proctable.OwnCallMark() {
				t.Errorf("what is left has the mark %d", mark)
			}
		})
	}
}

// findSleeper returns the process that sleeps for the given time, or 0.
func findSleeper(seconds string) int {
	for _, q := range proctable.List() {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", q.PID)); err == nil &&
			string(line) == "sleep\x00"+seconds+"\x00" {
			return q.PID
		}
	}
	return 0
}

// listAncestors returns a process and its ancestors.
func listAncestors(pid int) (above []int) {
	parents := map[int]int{}
	for _, q := range proctable.List() {
		parents[q.PID] = q.Parent
	}
	for ; pid > 1; pid = parents[pid] {
		above = append(above, pid)
	}
	return above
}
