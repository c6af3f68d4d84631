// Package process runs a program with everything that it starts: in a session of its own, marked as work of a tool,
// below a supervisor if there is one, and ended as a whole. If this process is killed, the supervisor ends it.
//
// A Command of the tool bash is such a process, as is a Child, which lives as long as its user needs it.
package process

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// Spec describes a program to run.
type Spec struct {
	Argv []string // [0] is the path of the program
	Dir  string
	Env  []string // NAME=value
	// Supervisor is the command line that starts this program so that it calls RunSupervisor, e.g. {"/proc/self/exe",
	// SuperviseWord}. Without it, and on systems other than Linux, a process that leaves the program's session and
	// clears its environment is not found, and if this process is killed, only the program itself ends with it.
	Supervisor []string
	Spare      *Spare        // has a supervisor that waits; may be nil
	Grace      time.Duration // between SIGTERM and SIGKILL
	Processes  int           // limit of processes at a time; needs a supervisor
	Files      Files

	// Guard is used by the supervisor, and by this process if the supervisor was killed.
	Guard *protected.FileGuard
	Watch bool // the guard checks while the program runs as well
	// Report takes each finding of the guard, with late set if the program had ended before; nil ignores them. It is
	// called before Done is closed, or late.
	Report func(r protected.GuardReport, late bool)

	Policy      *sandbox.Policy // confines it; nil for none. It needs a supervisor
	Isolated    bool            // namespaces enforce a part of the policy (IsIsolated)
	Rulesets    *sandbox.ReadRulesets
	readRuleset *os.File // of the policy; nil if the supervisor makes its own
}

// Files are what the program reads and writes. The program has copies of them.
type Files struct {
	Input  *os.File // nil: the null device
	Output *os.File
	Errors *os.File // nil: discarded
}

// Process is a running program with everything that it starts.
type Process struct {
	cmd        *exec.Cmd          // the program, or its supervisor
	mark       string             // tool.CallVariable=…, in the environment of the program
	callMark   uint64             // of the program and its descendants, which a supervisor sets; 0 without one
	done       chan struct{}      // closed when the program has ended
	supervisor *supervisorProcess // nil without one

	// set before done is closed
	exit       int
	signal     string
	unreported bool
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitStatus returns the exit code of the program that has ended, 128 plus the number of the signal that ended it, and
// the name of that signal, "" for none.
func (p *Process) ExitStatus() (code int, signal string) { return p.exit, p.signal }

// IsUnreported reports that the supervisor ended without the exit code of the program: it could not start it, or was
// killed and has cleaned up nothing.
func (p *Process) IsUnreported() bool { return p.unreported }

// Start starts the program, below a supervisor if there is one.
func Start(s Spec) (*Process, error) {
	mark := tool.CallVariable + "=" + rand.Text()
	s.Env = append(slices.Clip(s.Env), mark)
	switch {
	case len(s.Supervisor) > 0:
	case s.Policy != nil:
		return nil, errors.New("nothing here can confine it")
	default:
		return s.startAlone(mark)
	}
	if s.Policy != nil {
		ruleset, err := s.Rulesets.Open(*s.Policy)
		if err == nil {
			s.readRuleset = ruleset
			defer func() { _ = ruleset.Close() }() // the supervisor has a copy
		} // else the supervisor makes its own
	}
	if s.Isolated {
		isolated := s
		isolated.Guard = s.Guard.TrustKernel()
		if p, err := isolated.startSupervised(mark); err == nil {
			return p, nil
		} // this system forbids namespaces
	}
	s.Isolated = false
	s.Guard.SaveContent()
	return s.startSupervised(mark)
}

// startAlone starts the program without a supervisor. A goroutine stays locked to its thread until the program has
// ended, because the system kills the program when that thread ends (see programAttributes).
func (s Spec) startAlone(mark string) (*Process, error) {
	p := &Process{mark: mark, done: make(chan struct{})}
	p.cmd = exec.Command(s.Argv[0], s.Argv[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr, p.cmd.Stdout = s.Dir, s.Env, programAttributes(), s.Files.Output
	if s.Files.Input != nil {
		p.cmd.Stdin = s.Files.Input
	}
	if s.Files.Errors != nil {
		p.cmd.Stderr = s.Files.Errors
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.waitExit()
			close(p.done)
		}
	}()
	return p, <-started
}

// startSupervised starts the program below a supervisor, one that waits or a new one.
func (s Spec) startSupervised(mark string) (*Process, error) {
	p := &Process{mark: mark, callMark: proctable.NewCallMark(), done: make(chan struct{})}
	p.supervisor = s.Spare.takeFitting(s.Isolated)
	if p.supervisor != nil && s.sendOrder(p) != nil {
		p.supervisor = nil
	}
	if p.supervisor == nil {
		var err error
		if p.supervisor, err = startSupervisor(s.Supervisor, s.Isolated); err != nil {
			return nil, err
		}
		if err := s.sendOrder(p); err != nil {
			return nil, err
		}
	}
	p.cmd = p.supervisor.cmd
	go s.followSupervisor(p)
	return p, nil
}

// sendOrder sends the order for the program to its supervisor.
func (s Spec) sendOrder(p *Process) error {
	// Words with NUL bytes cannot be sent; the supervisor has no other program to wait for.
	argv, err := joinWords(s.Argv)
	env, envErr := joinWords(s.Env)
	if err := errors.Join(err, envErr); err != nil {
		p.supervisor.endProcess()
		return err
	}
	o := supervisorOrder{
		Argv: argv, Env: env, Dir: []byte(s.Dir), GraceMS: s.Grace.Milliseconds(),
		Processes: s.Processes, Mark: p.callMark, Guard: s.Guard, Watch: s.Watch,
		HasInput: s.Files.Input != nil, Quiet: s.Files.Errors == nil, HasRuleset: s.readRuleset != nil,
	}
	// The descriptors follow in the order in which prepareProcess takes them.
	var files []*os.File
	for _, f := range []*os.File{s.Files.Input, s.Files.Output, s.Files.Errors, s.readRuleset} {
		if f != nil {
			files = append(files, f)
		}
	}
	if s.Policy != nil {
		policy := *s.Policy
		policy.Namespace, o.Policy = p.supervisor.namespace, &policy
	}
	return p.supervisor.sendOrder(o, files...)
}

// followSupervisor waits for the program, and then for the processes that it left behind.
func (s Spec) followSupervisor(p *Process) {
	defer func() { _ = p.supervisor.conn.Close() }()
	report := s.Report
	if report == nil {
		report = func(protected.GuardReport, bool) {}
	}
	code, ok := p.supervisor.readUntilExit(func(found protected.GuardReport) { report(found, false) })
	if p.exit, p.unreported = code, !ok; !ok {
		p.waitExit()
	}
	close(p.done)
	if ok {
		p.supervisor.readAll(func(found protected.GuardReport) { report(found, true) })
		_ = p.cmd.Wait()
	}
}

// waitExit waits for the started process.
func (p *Process) waitExit() {
	_ = p.cmd.Wait() // ProcessState has the exit status
	p.exit, p.signal = exitStatus(p.cmd.ProcessState)
}
