package exec_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// listSupervisors returns the supervisors below this process.
func listSupervisors() (pids []int) {
	for _, p := range proctable.List() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cmdline")) // it may have ended
		if p.Parent == os.Getpid() && strings.Contains(string(line), "\x00"+process.SuperviseWord+"\x00") {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// A call takes a supervisor that was started after the call before it, and starts one itself if that was killed.
func TestSpareSupervisor(t *testing.T) {
	for name, set := range map[string]func(*tooltest.Config){"supervised": withSupervisor, "protected": withProtection} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t, set)
			if name == "protected" {
				b.Confinement = tool.Confinement{Mode: session.SandboxWrites}
				b.WriteFile(".git/config", "")
			}
			call := func() int {
				text := tooltest.TextOf(b.Call("bash", tooltest.Input{"command": "echo $PPID"}))
				pid, _, _ := strings.Cut(text, "\n")
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(text)
				}
				return n
			}
			waitFor(t, "a call below a supervisor that waited", func() bool {
				waiting := listSupervisors()
				return slices.Contains(waiting, call())
			})
			waitFor(t, "a supervisor for the next call", func() bool { return len(listSupervisors()) > 0 })
			killed := listSupervisors()
			for _, pid := range killed {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			waitFor(t, "their end", func() bool {
				return !slices.ContainsFunc(proctable.List(), func(p proctable.Process) bool {
					return slices.Contains(killed, p.PID) && !p.Dead
				})
			})
			if pid := call(); slices.Contains(killed, pid) {
				t.Errorf("the call used %d, which was killed", pid)
			}
		})
	}
}
