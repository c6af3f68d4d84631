//go:build unix && !linux

package pty

import "syscall"

func programAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}
}
