package pty

import "syscall"

// programAttributes: a session of its own at its own terminal; and the program ends with us, should we be killed.
func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}
