//go:build !unix

package process

import (
	"os"
	"syscall"
	"time"
)

func programAttributes() *syscall.SysProcAttr { return nil }

func supervisorAttributes() *syscall.SysProcAttr { return nil }

// Stop ends the command itself; this system does not tell which processes it started.
func (p *Process) Stop(time.Duration) {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func exitStatus(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), ""
}
