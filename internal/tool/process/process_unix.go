//go:build unix

package process

import (
	"os"
	"syscall"
	"time"
)

// Stop ends the command and everything it started: SIGTERM, and after grace SIGKILL, repeatedly until everything has
// ended. It returns when the command has been waited for.
func (p *Process) Stop(grace time.Duration) {
	if p.supervisor != nil {
		_, _ = p.supervisor.conn.Write([]byte{1})
		select {
		case <-p.done: // the supervisor ended everything, unless the command killed it
		case <-time.After(grace + 2*time.Second): // the supervisor is stopped or hangs
		}
	}
	p.signalAll(syscall.SIGTERM)
	if !p.waitGone(grace) {
		for range 50 { // a process that forks while it is killed is found in the next round
			p.signalAll(syscall.SIGKILL)
			if p.waitGone(40 * time.Millisecond) {
				break
			}
		}
	}
	<-p.done
}

// signalAll sends sig to the group of the command and to all processes that left it.
func (p *Process) signalAll(sig syscall.Signal) {
	group := p.cmd.Process.Pid // the command leads its own group
	strays := p.findStrays()
	if p.isGroupAlive() {
		_ = syscall.Kill(-group, sig)
	}
	for _, pid := range strays {
		_ = syscall.Kill(pid, sig)
	}
}

// waitGone waits at most d until no process of the command is left. It checks twice, because one check can miss a
// process during fork or exec.
func (p *Process) waitGone(d time.Duration) bool {
	step := 5 * time.Millisecond
	missing := 0 // checks in a row that found no process
	for end := time.Now().Add(d); ; time.Sleep(min(step, time.Until(end))) {
		if p.isGroupAlive() || len(p.findStrays()) > 0 {
			missing = 0
		} else if missing++; missing == 2 {
			return true
		}
		if !time.Now().Before(end) && missing == 0 {
			return false
		}
		step = min(2*step, 50*time.Millisecond)
	}
}

func exitStatus(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), ws.Signal().String()
	}
	return state.ExitCode(), ""
}
