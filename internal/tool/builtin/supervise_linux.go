package builtin

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// Supervise runs one command for a server that started this process through Config.Supervisor, and returns the exit
// code for it. args are what followed SuperviseWord.
//
// The process is a little init: whatever the command leaves behind becomes its child, so that nothing escapes, not by
// a session of its own, a double fork, or an empty environment. When the lifeline is written to or ends, because the
// server says so or is no more, everything is ended: TERM, then KILL. So it is at once, when there are more processes than
// may be. When the command ends by itself, what it left in the background goes on without supervision.
func Supervise(args []string) int {
	order, err := superviseArgs(args)
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
	around := newFence(order.processes)
	defer around.remove()
	cmd, err := order.start(around)
	if err != nil {
		fmt.Fprintln(os.Stderr, cause(err))
		return 127
	}
	ended, gone, done := make(chan int, 1), make(chan struct{}), make(chan struct{})
	go reap(cmd.Process.Pid, ended, gone)
	defer close(done)
	called := make(chan struct{})
	go func() {
		_, _ = os.NewFile(lifelineFD, "lifeline").Read(make([]byte, 1))
		close(called)
	}()
	select {
	case code := <-ended:
		return code
	case <-called:
		endDescendants(order.grace, around, gone)
	case n := <-crowded(order.processes, done):
		endDescendants(0, around, gone)
		fmt.Fprintf(os.Stderr, "\ncairn: the command was ended because it had %d processes at the same time; the limit is %d\n", n, order.processes)
	}
	select {
	case code := <-ended:
		return code
	default:
		return 128 + int(syscall.SIGKILL)
	}
}

// start starts the command in the fence, or without it where the kernel refuses that.
func (o order) start(around *fence) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: o.argv[0], Args: o.argv, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: around.around(attributes())}
	err := cmd.Start()
	if err != nil && around != nil {
		return o.start(nil)
	}
	return cmd, err
}

// reap waits for every child there is, reports how the command ended, and closes gone when there is no child left. Nothing
// that descends from this process is alive then, because what loses its parent becomes our child.
func reap(command int, ended chan<- int, gone chan<- struct{}) {
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

// endDescendants returns when reap says that they are gone. The process table says whom to signal, not whether it is done:
// it is read while it changes, so that a process which was forked behind the reader's back is missing in it.
func endDescendants(grace time.Duration, around *fence, gone <-chan struct{}) {
	sig := syscall.SIGTERM
	signalled := map[int]bool{}
	start, again := time.Now(), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for {
		if sig == syscall.SIGTERM && time.Since(start) >= grace {
			sig = syscall.SIGKILL
			around.kill()
		}
		for _, pid := range descendants(os.Getpid()) {
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

// descendants returns the live descendants of a process.
func descendants(of int) []int {
	table := proctable.List()
	ours := closure(table, map[int]bool{of: true})
	var alive []int
	for _, q := range table {
		if q.PID != of && ours[q.PID] && !q.Dead {
			alive = append(alive, q.PID)
		}
	}
	slices.Sort(alive)
	return alive
}
