//go:build unix && !linux

package builtin

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func detached() *syscall.SysProcAttr { return attributes() }

// strays are not looked for here: what leaves the group is not found.
func (p *process) strays() []int { return nil }

func (p *process) groupAlive() bool { return syscall.Kill(-p.cmd.Process.Pid, 0) == nil }
