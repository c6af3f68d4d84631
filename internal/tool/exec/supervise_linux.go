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
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/protected"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// RunSupervisor runs one command for a server that started this process through Config.Supervisor, and returns its exit
// code. args are the arguments after SuperviseWord.
//
// The process is a child subreaper: every process that the command leaves behind becomes its child, also after a new
// session, a double fork or with an empty environment. If the server writes to the lifeline or ends, the supervisor
// ends everything, with SIGTERM, then SIGKILL; if the command exceeds its limit of processes, at once. If the command
// ends by itself, its background processes go on, and the supervisor stays until they end: it marks them as processes
// of a tool, whatever their environment. It guards protected files until it ends, also after the end of the server.
func RunSupervisor(args []string) int {
	s := &supervisor{lifeline: os.NewFile(lifelineFD, "lifeline"), report: os.NewFile(reportFD, "report")}
	order, err := parseOrder(args)
	if err == nil {
		s.guardOrder, err = receiveGuard(s.lifeline)
	}
	if err == nil {
		s.supervisorOrder, err = order.prepareProcess()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "supervise:", err)
		return 125
	}
	unix.CloseOnExec(lifelineFD)
	_ = unix.CloseRange(lifelineFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // descriptors that the server inherited
	pid, err := s.startCommand()
	switch {
	case errors.Is(err, errConfine):
		fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", err)
		return 126
	case err != nil:
		fmt.Fprintln(os.Stderr, workpath.FileErrorCause(err))
		return 127
	}
	ended, gone := make(chan int, 1), make(chan struct{})
	go reapChildren(pid, ended, gone)
	return s.superviseCommand(ended, gone)
}

// supervisor is the state of a supervisor.
type supervisor struct {
	supervisorOrder
	guardOrder
	lifeline, report *os.File
}

// superviseCommand guards protected files until the command and what it left behind has ended, and returns the exit
// code.
func (s *supervisor) superviseCommand(ended <-chan int, gone <-chan struct{}) int {
	stopWatch := func() {}
	if s.Watch {
		stopWatch = s.startWatch()
	}
	code, itself := s.waitCommand(ended, gone)
	stopWatch()
	s.sendReport(supervisorReport{GuardReport: s.Guard.Check()})
	if itself && hasChildren() {
		s.awaitLeftovers(code, gone)
	}
	return code
}

// startWatch checks the protected files again and again until the returned function is called.
func (s *supervisor) startWatch() (stop func()) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		s.Guard.Watch(ended, func(found protected.GuardReport) { s.sendReport(supervisorReport{GuardReport: found}) })
	})
	return func() { close(ended); watching.Wait() }
}

// sendReport sends a message to the server, which may have ended.
func (s *supervisor) sendReport(m supervisorReport) {
	if text, err := json.Marshal(m); err == nil && (m.Exit != nil || m.Note != "") {
		_, _ = s.report.Write(append(text, '\n'))
	}
}

// commandOOMScore makes the kernel end commands before the server when memory runs out.
const commandOOMScore = "500"

// prepareProcess sets what this process needs and what the command inherits from it. This process cannot be traced or
// read by other processes of the user, and the command cannot remove its mark, not even as root. It returns the order
// for startCommand.
func (o supervisorOrder) prepareProcess() (supervisorOrder, error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(commandOOMScore), 0) // a container may forbid it
	argv, err := sandbox.PrepareProcess(o.argv)
	if err != nil {
		return o, fmt.Errorf("sandbox: %w", err)
	}
	o.argv = argv
	if err := proctable.SetCallMark(o.mark); err != nil {
		return o, fmt.Errorf("mark the command: %w", err)
	}
	return o, errors.Join(
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
	)
}

// waitCommand waits for the end of the command and returns its exit code. If the server writes to the lifeline or ends,
// or the command exceeds its limit of processes, it ends all descendants; itself is false then.
func (s *supervisor) waitCommand(ended <-chan int, gone <-chan struct{}) (code int, itself bool) {
	done := make(chan struct{})
	defer close(done)
	called := make(chan struct{})
	go func() {
		_, _ = s.lifeline.Read(make([]byte, 1))
		close(called)
	}()
	select {
	case code := <-ended:
		return code, true
	case <-called:
		endDescendants(s.grace, gone)
	case n := <-watchProcessLimit(s.processes, done):
		endDescendants(0, gone)
		fmt.Fprintf(os.Stderr, "\ncairn: the command was ended because it had %d processes at the same time; "+
			"the limit is %d\n", n, s.processes)
	}
	select {
	case code := <-ended:
		return code, false
	default:
		return 128 + int(syscall.SIGKILL), false
	}
}

// hasChildren reports whether this process has children.
func hasChildren() bool {
	return !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

// awaitLeftovers sends the exit code to the server and returns when all children have ended. It releases the output and
// the working directory, so that neither the call nor others wait for it.
func (s *supervisor) awaitLeftovers(code int, gone <-chan struct{}) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0)
	}
	_ = os.Chdir("/")
	s.sendReport(supervisorReport{Exit: &code})
	debug.FreeOSMemory() // this process may stay for days
	stopWatch := s.startWatch()
	<-gone
	stopWatch()
	s.sendReport(supervisorReport{GuardReport: s.Guard.Check()})
}

// errConfine reports that the sandbox of a command cannot be set up.
var errConfine = errors.New("cannot confine it")

// startCommand starts the command with the input and output of this process, from a thread of its own, which it
// confines first if argv says so. The thread remains, because the command is killed when it ends.
func (o supervisorOrder) startCommand() (pid int, err error) {
	started := make(chan error)
	go onFollowerThread(func() {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_RESOURCE, 0, 0, 0); err != nil &&
			!errors.Is(err, unix.EPERM) {
			started <- fmt.Errorf("drop CAP_SYS_RESOURCE: %w", err) // EPERM: not root, so it has no capabilities
			return
		}
		argv, err := sandbox.RestrictThread(o.argv)
		if err != nil {
			started <- fmt.Errorf("%w: %w", errConfine, err)
			return
		}
		cmd := exec.Cmd{
			Path: argv[0], Args: argv, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: commandAttributes(),
		}
		if err = cmd.Start(); err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		select {}
	})
	err = <-started
	return pid, err
}

// onFollowerThread runs f locked to a thread that is not the leader of this process. Landlock lets a confined command
// signal only confined threads, and a signal to a process counts as one to its leader: a confined leader would let the
// command signal this process.
func onFollowerThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	go onFollowerThread(f)
	select {} // holds the leader
}

// reapChildren waits for all children, sends the exit code of the command, and closes gone when no child is left. Then
// no descendant is alive, because an orphan becomes a child of this process.
func reapChildren(command int, ended chan<- int, gone chan<- struct{}) {
	defer close(gone)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // no child is left
			return
		case pid == command && ws.Signaled():
			ended <- 128 + int(ws.Signal())
		case pid == command:
			ended <- ws.ExitStatus()
		}
	}
}

// endDescendants ends all descendants and returns when reapChildren reports that they are gone. The process table only
// tells whom to signal: it changes while it is read, so a process that was just forked can be missing.
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
