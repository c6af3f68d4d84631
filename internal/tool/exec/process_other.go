//go:build !unix

package exec

import (
	"os"
	"syscall"
	"time"
)

func commandAttributes() *syscall.SysProcAttr { return nil }

func supervisorAttributes() *syscall.SysProcAttr { return nil }

// stopAll ends the command itself; this system does not tell which processes it started.
func (p *process) stopAll(time.Duration) {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func exitStatus(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), ""
}

// readAvailable reads nothing: the pipes of this system have no deadlines.
func readAvailable(*os.File, []byte) int { return 0 }
