//go:build unix && !linux

package process

import "syscall"

// programAttributes gives a command a session of its own.
func programAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func supervisorAttributes() *syscall.SysProcAttr { return programAttributes() }

// findStrays finds nothing on this system: a process that leaves the command's group is lost.
func (p *Process) findStrays() []int { return nil }

func (p *Process) isGroupAlive() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == nil }
