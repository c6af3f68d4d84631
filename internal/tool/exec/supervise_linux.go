package exec

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Supervise runs one command for a server that started this process through Config.Supervisor, and returns the exit
// code for it. args are what followed SuperviseWord.
//
// The process is a little init: whatever the command leaves behind becomes its child, so that nothing escapes, not by a
// session of its own, a double fork, or an empty environment. When the lifeline is written to or ends, because the
// server says so or is no more, everything is ended: TERM, then KILL. So it is at once, when there are more processes
// than may be. When the command ends by itself, what it left in the background goes on, below this process, which is
// then only there for that: whoever asks what those processes are finds a tool's above them, whatever became of their
// environment.
func Supervise(args []string) int {
	order, err := parseOrder(args)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "supervise:", err)
		return 125
	}
	runtime.LockOSThread() // the command ends with the thread that started it
	unix.CloseOnExec(lifelineFD)
	_ = unix.CloseRange(lifelineFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // whatever the server was started with
	cmd, err := order.startCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, workpath.Cause(err))
		return 127
	}
	ended, gone := make(chan int, 1), make(chan struct{})
	go reapChildren(cmd.Process.Pid, ended, gone)
	code, itself := order.waitCommand(ended, gone)
	if itself && hasChildren() {
		reportAndWait(code, gone)
	}
	return code
}

// waitCommand returns the exit code when the command has ended, and whether it did so by itself.
func (o supervisorOrder) waitCommand(ended <-chan int, gone <-chan struct{}) (code int, itself bool) {
	done := make(chan struct{})
	defer close(done)
	called := make(chan struct{})
	go func() {
		_, _ = os.NewFile(lifelineFD, "lifeline").Read(make([]byte, 1))
		close(called)
	}()
	select {
	case code := <-ended:
		return code, true
	case <-called:
		endDescendants(o.grace, gone)
	case n := <-watchProcessLimit(o.processes, done):
		endDescendants(0, gone)
		fmt.Fprintf(
			os.Stderr, "\ncairn: the command was ended because it had %d processes at the same time; the limit is %d\n", n,
			o.processes,
		)
	}
	select {
	case code := <-ended:
		return code, false
	default:
		return 128 + int(syscall.SIGKILL), false
	}
}

// hasChildren reports whether anything is below this process.
func hasChildren() bool {
	return !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

// reportAndWait tells the server how the command ended and returns when nothing of it is left. It holds nothing that
// the call, or anybody else, waits for: not the output, not the directory.
func reportAndWait(code int, gone <-chan struct{}) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	_ = os.Chdir("/")
	report := os.NewFile(reportFD, "report")
	_, _ = report.Write([]byte{byte(code)}) // a server that is no more wants to know nothing
	_ = report.Close()
	debug.FreeOSMemory() // it may be there for days
	<-gone
}

// startCommand starts the command with the input and output of this process.
func (o supervisorOrder) startCommand() (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: o.argv[0], Args: o.argv, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: commandAttributes()}
	return cmd, cmd.Start()
}

// reapChildren waits for every child there is, reports how the command ended, and closes gone when there is no child
// left. Nothing that descends from this process is alive then, because what loses its parent becomes our child.
func reapChildren(command int, ended chan<- int, gone chan<- struct{}) {
	defer close(gone)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // none left
			return
		case pid == command && ws.Signaled():
			ended <- 128 + int(ws.Signal())
		case pid == command:
			ended <- ws.ExitStatus()
		}
	}
}

// endDescendants returns when reap says that they are gone. The process table says whom to signal, not whether it is
// done: it is read while it changes, so that a process which was forked behind the reader's back is missing in it.
func endDescendants(grace time.Duration, gone <-chan struct{}) {
	sig := syscall.SIGTERM
	signalled := map[int]bool{}
	start, again := time.Now(), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for {
		if sig == syscall.SIGTERM && time.Since(start) >= grace {
			sig = syscall.SIGKILL
		}
		for _, pid := range listDescendants(os.Getpid()) {
			if sig == syscall.SIGKILL || !signalled[pid] {
				_ = syscall.Kill(pid, sig)
				signalled[pid] = true
			}
		}
		select {
		case <-gone:
			return
		case <-again.C:
		}
	}
}

// listDescendants returns the live descendants of a process.
func listDescendants(of int) []int {
	table := proctable.List()
	ours := addDescendants(table, map[int]bool{of: true})
	var alive []int
	for _, q := range table {
		if q.PID != of && ours[q.PID] && !q.Dead {
			alive = append(alive, q.PID)
		}
	}
	slices.Sort(alive)
	return alive
}
