//go:build unix && !linux

package exec

import "syscall"

// commandAttributes gives a command a session of its own.
func commandAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func supervisorAttributes() *syscall.SysProcAttr { return commandAttributes() }

// findStrays finds nothing on this system: a process that leaves the command's group is lost.
func (p *process) findStrays() []int { return nil }

func (p *process) isGroupAlive() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == nil }
