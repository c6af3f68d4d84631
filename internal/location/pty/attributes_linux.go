package pty

import "syscall"

// programAttributes gives the program a session and a controlling terminal of its own. It is killed if this process is.
func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}
