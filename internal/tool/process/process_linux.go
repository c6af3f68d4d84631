package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// programAttributes gives a command a session of its own: it has no terminal to ask at, and its whole group can be
// signalled. The command is killed if this process is.
func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// supervisorAttributes gives a supervisor a session of its own. It is not killed with this process: its socket
// ends, and it cleans up.
func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// findStrays returns the processes of the call outside of the command's group, and those that they started. With a
// supervisor they are found by the call mark alone, the supervisor among them: once it has ended, another process may
// reuse its pid. A process may lower its mark, so a mark that no supervisor accounts for
// is a stray's, too. Without a supervisor they are found by parent, by session, and by tool.CallVariable in the
// environment, which also finds those that init adopted.
func (p *Process) findStrays() []int {
	leader := 0
	if p.callMark == 0 {
		leader = p.cmd.Process.Pid
	}
	table := proctable.List()
	ours := map[int]bool{leader: leader != 0}
	own := proctable.OwnCallMark()
	for _, q := range table {
		if leader != 0 && (q.Session == leader || q.Group == leader) || p.isMarked(q, own) {
			ours[q.PID] = true
		}
	}
	addDescendants(table, ours)
	var strays []int
	for _, q := range table {
		if ours[q.PID] && (leader == 0 || q.Group != leader) && !q.Dead {
			strays = append(strays, q.PID)
		}
	}
	return strays
}

// isOrphan reports whether a process has a mark and its topmost marked ancestor is no supervisor: then that of its call
// was killed. own is the mark of this process, which a tool may have started. A process above which another one ends
// during the walk is left out; the next look finds it.
func isOrphan(pid int, own uint64) bool {
	if syscall.Kill(pid, 0) != nil { // another user's
		return false
	}
	top := 0
	for range maxAncestors {
		mark, ok := proctable.CallMark(pid)
		if !ok {
			return false
		}
		if mark >= own {
			break
		}
		parent := proctable.ReadParent(pid)
		if parent == 0 {
			return false
		}
		top, pid = pid, parent
	}
	return top != 0 && !isSupervisor(top)
}

// maxAncestors bounds a walk to the root of the process tree.
const maxAncestors = 256

// isSupervisor reports whether a process was started as a supervisor and has not ended.
func isSupervisor(pid int) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	args := bytes.SplitN(line, []byte{0}, 3)
	return err == nil && len(args) == 3 && string(args[1]) == SuperviseWord
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

// UsesNamespace reports whether the policy asks for a supervisor that starts in namespaces.
func (s Spec) UsesNamespace() bool { return s.Policy != nil && s.Policy.UsesNamespace() }

// isGroupAlive reports whether the command's group has a process that is not a zombie; false with a supervisor, whose
// group findStrays finds. The kernel tells at once that a group is empty; only for other groups the process table is
// read, to ignore zombies.
func (p *Process) isGroupAlive() bool {
	leader := p.cmd.Process.Pid
	if p.callMark != 0 || errors.Is(syscall.Kill(-leader, 0), syscall.ESRCH) {
		return false
	}
	return slices.ContainsFunc(proctable.List(), func(q proctable.Process) bool { return q.Group == leader && !q.Dead })
}

func (p *Process) isMarked(q proctable.Process, own uint64) bool {
	if q.Dead || q.PID == os.Getpid() {
		return false
	}
	if p.callMark != 0 {
		mark, ok := proctable.CallMark(q.PID)
		return ok && mark == p.callMark || isOrphan(q.PID, own)
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.PID), "environ"))
	return err == nil && bytes.Contains(env, []byte(p.mark))
}
