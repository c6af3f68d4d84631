package exec

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

// commandAttributes: a session of its own, so that there is no terminal to ask at and the whole group can be signalled;
// and the command ends with us, should we be killed.
func commandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// supervisorAttributes is for a supervisor: a session of its own. It ends by its lifeline, after having cleaned up.
func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// findStrays returns what the command started and what left its group: by parentage, by session, or by the mark in the
// environment, which finds those that were handed to init.
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
	var strays []int
	for _, q := range table {
		if ours[q.PID] && q.Group != leader && !q.Dead {
			strays = append(strays, q.PID)
		}
	}
	return strays
}

// addDescendants adds to ours every process that one of ours started.
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

// isGroupAlive reports whether anything but zombies is in the command's group. That nothing is in it the kernel says
// without a moment between; the table is asked where something is, which may be zombies that nobody waits for.
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
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.PID), "environ"))
	return err == nil && bytes.Contains(env, []byte(p.mark))
}
