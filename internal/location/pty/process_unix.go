//go:build unix

package pty

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/proctable"
)

// killDelay is the time between SIGHUP and SIGKILL.
const killDelay = 300 * time.Millisecond

// openTerminal starts a command line as a session leader on a new terminal and returns the terminal's controlling end.
// A confined one gets namespaces of its own if the system permits them.
func openTerminal(argv []string, dir string, env []string) (*exec.Cmd, *os.File, error) {
	attr := programAttributes()
	if isolated, ok := sandbox.IsolateCommand(argv, attr); ok {
		if cmd, file, err := startOnTerminal(isolated, dir, env, attr); err == nil {
			return cmd, file, nil
		}
	}
	return startOnTerminal(argv, dir, env, programAttributes())
}

func startOnTerminal(
	argv []string, dir string, env []string, attr *syscall.SysProcAttr,
) (*exec.Cmd, *os.File, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	opened, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 24, Cols: 80}, attr)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = opened.Close() }()
	// The library's descriptor is blocking: closing it would not wake a reader. Use a non-blocking duplicate.
	fd, err := unix.FcntlInt(opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		return nil, nil, err
	}
	return cmd, os.NewFile(uintptr(fd), opened.Name()), nil
}

func (t *terminal) resize(s Size) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return // the terminal is closed
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(s.Rows), Col: uint16(s.Cols)})
	})
}

// stopAll ends the program and everything in its session, and returns when all of it has ended.
func (t *terminal) stopAll() {
	t.signalAll(syscall.SIGHUP)
	for wait := killDelay; ; wait = 40 * time.Millisecond {
		select {
		case <-t.ended:
			return
		case <-time.After(wait):
			t.signalAll(syscall.SIGKILL) // repeated, because a process may fork meanwhile
		}
	}
}

// signalAll sends sig to the group of the program and to the processes of its session outside of the group.
func (t *terminal) signalAll(sig syscall.Signal) {
	select {
	case <-t.waited:
		return // endLeftovers ends the rest
	default:
		_ = syscall.Kill(-t.cmd.Process.Pid, sig)
	}
	for _, pid := range t.sessionMembers() {
		_ = syscall.Kill(pid, sig)
	}
}

// endLeftovers ends the processes that the program left in its session.
func (t *terminal) endLeftovers() {
	sig := syscall.SIGHUP
	begun := time.Now()
	for step := time.Millisecond; ; step = min(2*step, 40*time.Millisecond) {
		left := t.sessionMembers()
		if len(left) == 0 {
			return
		}
		if time.Since(begun) > killDelay {
			sig = syscall.SIGKILL
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, sig)
		}
		time.Sleep(step)
	}
}

// sessionMembers returns the live processes of the session. While there are any, its number is not reused.
func (t *terminal) sessionMembers() (pids []int) {
	for _, p := range proctable.List() {
		if p.Session == t.cmd.Process.Pid && !p.Dead {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}
