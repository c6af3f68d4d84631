package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool/protected"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// socketFD is the supervisor's end of its socket.
const socketFD = 3

// startSupervisor starts a supervisor, isolated: in namespaces of its own.
func startSupervisor(program []string, isolated bool) (*supervisorProcess, error) {
	s := &supervisorProcess{cmd: exec.Command(program[0], program[1:]...)}
	s.cmd.Dir, s.cmd.Env, s.cmd.SysProcAttr = "/", []string{}, supervisorAttributes()
	if isolated {
		var err error
		if s.namespace, err = sandbox.NewNamespace(s.cmd.SysProcAttr); err != nil {
			return nil, err
		}
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	serverEnd, supervisorEnd := os.NewFile(uintptr(pair[0]), "supervisor"), os.NewFile(uintptr(pair[1]), "supervisor")
	defer func() { _, _ = serverEnd.Close(), supervisorEnd.Close() }() // conn and the supervisor have copies
	conn, err := net.FileConn(serverEnd)
	if err != nil {
		return nil, err
	}
	s.conn, s.from = conn.(*net.UnixConn), jsontext.NewDecoder(conn)
	s.cmd.ExtraFiles = []*os.File{supervisorEnd}
	if err := s.cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.started = time.Now()
	return s, nil
}

// sendOrder gives the supervisor its order, with files for it, and lets it run the command once it is ready. If that
// fails, it ends the supervisor, which has run nothing then.
func (s *supervisorProcess) sendOrder(o supervisorOrder, files ...*os.File) error {
	err := s.negotiateOrder(o, files)
	_ = s.conn.SetDeadline(time.Time{})
	if err != nil {
		s.endProcess()
	}
	return err
}

// negotiateOrder sends the order, waits until it is accepted, and then sends the byte that starts the command.
func (s *supervisorProcess) negotiateOrder(o supervisorOrder, files []*os.File) error {
	text, err := o.encode()
	if err != nil {
		return err
	}
	// A supervisor that just started gets the rest of its start time.
	_ = s.conn.SetDeadline(time.Now().Add(max(acceptTimeout, startTimeout-time.Since(s.started))))
	// The descriptors travel with the first four bytes, the length of the order.
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if _, _, err := s.conn.WriteMsgUnix(text[:4], unix.UnixRights(fds...), nil); err != nil {
		return err
	}
	if _, err := s.conn.Write(text[4:]); err != nil {
		return err
	}
	// Start the command only when the supervisor has accepted the whole order.
	switch m, ok := s.read(); {
	case m.Error != "":
		return errors.New(m.Error)
	case !ok || !m.Accepted:
		return errors.New("the supervisor did not accept the command")
	}
	_, err = s.conn.Write([]byte{1})
	return err
}

// receiveOrder returns the order and the files that came with it. The error is io.EOF if the server gives none.
func receiveOrder(socket *os.File) (o supervisorOrder, fds []int, err error) {
	size, rights := make([]byte, 4), make([]byte, unix.CmsgSpace(4*4))
	n, oobn, _, _, err := unix.Recvmsg(int(socket.Fd()), size, rights, unix.MSG_WAITALL|unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return o, nil, err
	case n < len(size):
		return o, nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(rights[:oobn])
	if err != nil {
		return o, nil, err
	}
	for _, m := range messages {
		more, err := unix.ParseUnixRights(&m)
		if err != nil {
			return o, nil, err
		}
		fds = append(fds, more...)
	}
	o, err = readOrder(socket, binary.BigEndian.Uint32(size))
	return o, fds, err
}

// RunSupervisor runs one command for a server that started this process through Config.Supervisor, and returns its exit
// code. It waits for the order first.
//
// The process is a child subreaper: every process that the command leaves behind becomes its child, also after a new
// session, a double fork or with an empty environment. If the server writes to the socket or ends, the supervisor ends
// everything, with SIGTERM, then SIGKILL; if the command exceeds its limit of processes, at once. If the command ends
// by itself, its background processes go on, and the supervisor stays until they end: it marks them as processes of a
// tool, whatever their environment. It guards protected files until it ends, also after the end of the server.
func RunSupervisor() int {
	// Wait for the order, and prepare this process for it.
	s := &supervisor{socket: os.NewFile(socketFD, "socket")}
	_ = unix.CloseRange(socketFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)   // also what the server inherited
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(commandOOMScore), 0) // a container may forbid it
	warmUp()
	order, fds, err := receiveOrder(s.socket)
	if errors.Is(err, io.EOF) {
		return 0
	}
	if err == nil {
		s.supervisorOrder = order
		err = s.prepareProcess(fds)
	}
	if err != nil {
		s.sendReport(supervisorReport{Error: err.Error()})
		return 125
	}
	// Accept it, and start the command when the server says so.
	s.sendReport(supervisorReport{Accepted: true})
	if n, _ := s.socket.Read(make([]byte, 1)); n == 0 { // the server gave up, and starts the command elsewhere
		return 0
	}
	pid, err := s.startCommand()
	switch {
	case errors.Is(err, errConfine):
		fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", err)
		return 126
	case err != nil:
		fmt.Fprintln(os.Stderr, workpath.FileErrorCause(err))
		return 127
	}
	// Stay until the command and what it left behind has ended.
	ended, gone := make(chan int, 1), make(chan struct{})
	go reapChildren(pid, ended, gone)
	return s.superviseCommand(ended, gone)
}

// warmUp does what takes long the first time in a process and is the same for each order.
func warmUp() {
	_ = sandbox.Check()
	example := supervisorOrder{
		Policy: &sandbox.Policy{Write: []string{"/"}}, Guard: &protected.FileGuard{Before: map[string][]byte{"/": {0}}},
	}
	if text, err := example.encode(); err == nil {
		_, _ = readOrder(bytes.NewReader(text[4:]), uint32(len(text)-4))
	}
}

// supervisor is the state of a supervisor.
type supervisor struct {
	supervisorOrder
	socket *os.File
}

// superviseCommand guards protected files until the command and what it left behind has ended, and returns the exit
// code. It reports the exit code before this process ends, which takes longer.
func (s *supervisor) superviseCommand(ended <-chan int, gone <-chan struct{}) int {
	stopWatch := func() {}
	if s.Watch {
		stopWatch = s.startWatch()
	}
	code, itself := s.waitCommand(ended, gone)
	stopWatch()
	s.sendReport(supervisorReport{GuardReport: s.Guard.Check()})
	releaseFiles()
	s.sendReport(supervisorReport{Exit: &code})
	if itself && hasChildren() {
		s.awaitLeftovers(gone)
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
	if text, err := json.Marshal(m); err == nil && (m.Accepted || m.Error != "" || m.Exit != nil || m.Note != "") {
		_, _ = s.socket.Write(append(text, '\n'))
	}
}

// commandOOMScore makes the kernel end commands before the server when memory runs out.
const commandOOMScore = "500"

// prepareProcess sets what this process needs and what the command inherits from it. fds came with the order. This
// process cannot be traced or read by other processes of the user, and the command cannot remove its mark, not even as
// root.
func (s *supervisor) prepareProcess(fds []int) error {
	// Take input and outputs from the first descriptors of the order. A quiet command keeps this process's stderr.
	targets := []int{unix.Stdout}
	if s.HasInput {
		targets = []int{unix.Stdin, unix.Stdout}
	}
	if !s.Quiet {
		targets = append(targets, unix.Stderr)
	}
	for _, target := range targets {
		if len(fds) == 0 {
			return errors.New("the order lacks a file")
		}
		if err := unix.Dup3(fds[0], target, 0); err != nil {
			return err
		}
		_, fds = unix.Close(fds[0]), fds[1:]
	}
	// Enter the directory first: EnterNamespace enters the same one again below its new mounts.
	if err := os.Chdir(string(s.Dir)); err != nil {
		return err
	}
	// The next descriptor, if one came, is the prepared ruleset of the policy.
	if s.Policy != nil {
		if s.HasRuleset && len(fds) > 0 {
			s.Policy.ReadRuleset = fds[0]
		}
		if err := s.Policy.EnterNamespace(); err != nil {
			return fmt.Errorf("sandbox: protect files: %w", err)
		}
	}
	// Mark this process, so that everything that the command starts inherits the mark.
	if err := proctable.SetCallMark(s.Mark); err != nil {
		return fmt.Errorf("mark the command: %w", err)
	}
	// Not dumpable: no other process reads its memory. Subreaper: orphans of the command become its children.
	return errors.Join(
		unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0),
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
	)
}

// waitCommand waits for the end of the command and returns its exit code. If the server writes to the socket or ends,
// or the command exceeds its limit of processes, it ends all descendants; itself is false then.
func (s *supervisor) waitCommand(ended <-chan int, gone <-chan struct{}) (code int, itself bool) {
	// Wait for the command, the server, or the limit of processes.
	done := make(chan struct{})
	defer close(done)
	called := make(chan struct{})
	go func() {
		_, _ = s.socket.Read(make([]byte, 1))
		close(called)
	}()
	select {
	case code := <-ended:
		return code, true
	case <-called:
		endDescendants(time.Duration(s.GraceMS)*time.Millisecond, gone)
	case n := <-watchProcessLimit(s.Processes, done):
		endDescendants(0, gone)
		fmt.Fprintf(os.Stderr, "\ncairn: the command was ended because it had %d processes at the same time; "+
			"the limit is %d\n", n, s.Processes)
	}
	// All descendants were ended: the command too, unless it ended at the same time.
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

// releaseFiles releases the output and the working directory, so that neither the call nor others wait for them.
func releaseFiles() {
	if null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup3(null, fd, 0)
		}
	}
	_ = os.Chdir("/")
}

// awaitLeftovers returns when all children have ended.
func (s *supervisor) awaitLeftovers(gone <-chan struct{}) {
	debug.FreeOSMemory() // this process may stay for days
	stopWatch := s.startWatch()
	<-gone
	stopWatch()
	s.sendReport(supervisorReport{GuardReport: s.Guard.Check()})
}

// errConfine reports that the sandbox of a command cannot be set up.
var errConfine = errors.New("cannot confine it")

// startCommand starts the command with the input and output of this process, from a thread of its own, which it
// confines first if there is a policy. The thread remains, because the command is killed when it ends.
func (o supervisorOrder) startCommand() (pid int, err error) {
	started := make(chan error)
	go onFollowerThread(func() {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_RESOURCE, 0, 0, 0); err != nil &&
			!errors.Is(err, unix.EPERM) {
			started <- fmt.Errorf("drop CAP_SYS_RESOURCE: %w", err) // EPERM: not root, so it has no capabilities
			return
		}
		if o.Policy != nil {
			if err := o.Policy.RestrictThread(); err != nil {
				started <- fmt.Errorf("%w: %w", errConfine, err)
				return
			}
		}
		argv := splitWords(o.Argv)
		pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
			Env: splitWords(o.Env), Files: []uintptr{0, 1, 2}, Sys: programAttributes(),
		})
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
	descendants := addDescendants(table, map[int]bool{of: true})
	var alive []int
	for _, q := range table {
		if q.PID != of && descendants[q.PID] && !q.Dead {
			alive = append(alive, q.PID)
		}
	}
	slices.Sort(alive)
	return alive
}
