//go:build unix

package installation

import (
	"os/exec"
	"syscall"
	"time"
)

// endWithGroup gives a command a group of processes of its own, which SIGTERM reaches as a whole when its context ends: a
// shell handles the signal only after the program that it runs has ended. The signal is sent twice, because a program that
// is being started loses the first one.
func endWithGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
		time.AfterFunc(2*time.Second, func() { _ = end() })
		return end()
	}
}
