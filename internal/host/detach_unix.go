//go:build unix

package host

import "syscall"

// detachedAttributes gives a process a session of its own, without a terminal.
func detachedAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
