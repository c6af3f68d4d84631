//go:build unix

package installation

import (
	"os/exec"
	"syscall"
)

// endWithGroup gives a command a group of processes of its own, which SIGTERM reaches as a whole when its context ends: a
// shell handles the signal only after the program that it runs has ended.
func endWithGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
