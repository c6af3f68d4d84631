package pty

import "syscall"

// attributes: a session of its own at its own terminal; and the program ends with us, should we be killed.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
}
