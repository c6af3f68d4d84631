//go:build !unix

package builtin

import (
	"os"
	"syscall"
	"time"
)

func attributes() *syscall.SysProcAttr { return nil }

func detached() *syscall.SysProcAttr { return nil }

// stop ends the command itself; what it started is not found here.
func (p *process) stop(time.Duration) {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func exitOf(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), ""
}
