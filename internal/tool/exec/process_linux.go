package exec

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// commandAttributes gives a command a session of its own: it has no terminal to ask at, and its whole group can be
// signalled. The command is killed if this process is.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// supervisorAttributes gives a supervisor a session of its own. It is not killed with this process: its lifeline ends,
// and it cleans up.
func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// findStrays returns the processes that the command started and that left its group. It finds them by parent, by
// session, and by the call mark or, without a supervisor, by tool.CallVariable in the environment, which also finds
// those that init adopted.
func (p *process) findStrays() []int {
	leader := p.cmd.Process.Pid
	table := proctable.List()
	ours := map[int]bool{leader: true}
	for _, q := range table {
		if q.Session == leader || q.Group == leader || p.isMarked(q) {
			ours[q.PID] = true
		}
	}
	addDescendants(table, ours)
	if p.callMark != 0 {
		addOrphans(table, ours)
	}
	var strays []int
	for _, q := range table {
		if ours[q.PID] && q.Group != leader && !q.Dead {
			strays = append(strays, q.PID)
		}
	}
	return strays
}

// addOrphans adds the marked processes whose topmost marked ancestor is no supervisor: their supervisor was killed.
// They may have lowered their mark, so that it does not show of which call they are.
func addOrphans(table []proctable.Process, ours map[int]bool) {
	parents, marked := map[int]int{}, map[int]bool{}
	for _, q := range table {
		mark, ok := proctable.CallMark(q.PID)
		parents[q.PID], marked[q.PID] = q.Parent, ok && !q.Dead && mark < proctable.OwnCallMark()
	}
	for _, q := range table {
		if !marked[q.PID] {
			continue
		}
		top := q.PID
		for marked[parents[top]] {
			top = parents[top]
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", top)); err == nil && !isSupervisor(line) {
			ours[q.PID] = true
		}
	}
}

// isSupervisor reports whether a command line is that of a supervisor.
func isSupervisor(line []byte) bool {
	words := bytes.Split(line, []byte{0})
	return len(words) > 1 && string(words[1]) == SuperviseWord
}

// addDescendants adds the descendants of the processes in ours.
func addDescendants(table []proctable.Process, ours map[int]bool) map[int]bool {
	for grown := true; grown; {
		grown = false
		for _, q := range table {
			if !ours[q.PID] && ours[q.Parent] {
				ours[q.PID], grown = true, true
			}
		}
	}
	return ours
}

// isGroupAlive reports whether the command's group has a process that is not a zombie. The kernel tells at once that a
// group is empty; only for other groups the process table is read, to ignore zombies.
func (p *process) isGroupAlive() bool {
	leader := p.cmd.Process.Pid
	if errors.Is(syscall.Kill(-leader, 0), syscall.ESRCH) {
		return false
	}
	return slices.ContainsFunc(proctable.List(), func(q proctable.Process) bool { return q.Group == leader && !q.Dead })
}

func (p *process) isMarked(q proctable.Process) bool {
	if q.Dead || q.PID == os.Getpid() {
		return false
	}
	if p.callMark != 0 {
		mark, ok := proctable.CallMark(q.PID)
		return ok && mark == p.callMark
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.PID), "environ"))
	return err == nil && bytes.Contains(env, []byte(p.mark))
}
