package exec

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/protected"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	defaultDrainTime = 250 * time.Millisecond
	progressEvery    = 250 * time.Millisecond
)

// command is a command to run.
type command struct {
	argv       []string
	supervisor []string // Config.Supervisor; nil for none
	spare      *spareSupervisor
	mark       string // tool.CallVariable=…, in env; startProcess sets it
	dir        string
	env        []string
	timeout    time.Duration // 0 for none
	grace      time.Duration
	drain      time.Duration // Config.DrainTime
	processes  int           // limit of processes at a time; needs a supervisor
	output     *commandOutput
	quiet      bool                 // discard standard error
	guard      *protected.FileGuard // used by the supervisor, and by this process if the supervisor was killed
	background bool                 // nothing waits for the end, so guard checks meanwhile as well
	log        *slog.Logger         // of what the guard finds; nil for none
	// found receives each finding of the guard; late is set for those after the end of the command; nil ignores them
	found func(r protected.GuardReport, late bool)

	policy      *sandbox.Policy // confines it; nil for none. It needs a supervisor
	isolated    bool            // namespaces enforce a part of the policy (isIsolated)
	rulesets    *sandbox.ReadRulesets
	readRuleset *os.File // of the policy; nil if the supervisor makes its own. startProcess opens it
}

// commandResult is the outcome of a command.
type commandResult struct {
	out         tool.CaptureResult
	tail        string // see commandOutput.formatTail
	exit        int    // 128 plus the signal number if a signal ended it
	signal      string // name of the signal, "" if none ended it
	timedOut    bool
	interrupted bool
}

// execute runs the command until it ends, its timeout passes or ctx ends; in the last two cases it ends everything that
// the command started. It waits for other processes that hold the output until drain has passed since the command's
// end, and closes the pipe. progress gets the end of the output at most four times a second.
func (r command) execute(ctx context.Context, progress func(recent string)) (commandResult, error) {
	// Start the command, and copy its output.
	read, write, err := os.Pipe()
	if err != nil {
		return commandResult{}, tool.Failf("The command could not be started: %v.", workpath.FileErrorCause(err))
	}
	defer func() { _ = read.Close() }()
	p, err := r.startProcess(write)
	_ = write.Close() // the command has a copy
	if err != nil {
		return commandResult{}, tool.Failf("The command could not be started: %v.", workpath.FileErrorCause(err))
	}
	o := r.output
	var copying, showing sync.WaitGroup
	copying.Go(func() { o.copyFrom(read) })
	stop := make(chan struct{})
	showing.Go(func() { o.reportProgress(stop, progress) })

	// Wait for its end.
	f := commandResult{}
	var late <-chan time.Time
	if r.timeout > 0 {
		timer := time.NewTimer(r.timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.done:
	case <-late:
		f.timedOut = true
	case <-ctx.Done():
		f.interrupted = true
	}
	if f.timedOut || f.interrupted {
		p.stopAll(r.grace)
	}

	// Collect the rest of the output, the exit status and the findings of the guard.
	_ = read.SetReadDeadline(time.Now().Add(cmp.Or(r.drain, defaultDrainTime)))
	copying.Wait()
	close(stop)
	showing.Wait()
	f.exit, f.signal = p.exit, p.signal
	if p.unreported { // the supervisor was killed and cleaned up nothing
		p.stopAll(0)
		p.found = append(p.found, p.guard.Check())
	}
	for _, found := range p.found {
		r.noteFound(found, false)
		o.addNote(found.Note)
	}
	f.tail = o.formatTail()
	f.out = o.finishCapture(ctx)
	return f, nil
}

// process is a running command with everything that it starts.
type process struct {
	cmd        *exec.Cmd          // the command, or its supervisor
	mark       string             // tool.CallVariable=…, in the environment of the command
	callMark   uint64             // of the command and its descendants, which a supervisor sets; 0 without one
	done       chan struct{}      // closed when the command has ended
	supervisor *supervisorProcess // nil without one
	guard      *protected.FileGuard

	// set before done is closed
	exit   int                     // exit status
	signal string                  // name of the signal that ended the command, "" if none did
	found  []protected.GuardReport // by the guard, until the command ended
	// the supervisor ended without the command's exit code: it could not start it, or was killed
	unreported bool
}

// startProcess starts the command, below a supervisor if there is one.
func (r command) startProcess(output *os.File) (*process, error) {
	r.mark = tool.CallVariable + "=" + rand.Text()
	r.env = append(slices.Clip(r.env), r.mark)
	switch {
	case len(r.supervisor) > 0:
	case r.policy != nil:
		return nil, errors.New("nothing here can confine it")
	default:
		return r.startAlone(output)
	}
	if r.policy != nil {
		ruleset, err := r.rulesets.Open(*r.policy)
		if err == nil {
			r.readRuleset = ruleset
			defer func() { _ = ruleset.Close() }() // the supervisor has a copy
		} // else the supervisor makes its own
	}
	if r.isolated {
		isolated := r
		isolated.guard = r.guard.TrustKernel()
		if p, err := isolated.startSupervised(output, true); err == nil {
			return p, nil
		} // this system forbids namespaces
	}
	r.guard.SaveContent()
	return r.startSupervised(output, false)
}

// startAlone starts the command without a supervisor. A goroutine stays locked to its thread until the command has
// ended, because the system kills the command when that thread ends (see commandAttributes).
func (r command) startAlone(output *os.File) (*process, error) {
	p := &process{mark: r.mark, done: make(chan struct{}), guard: r.guard}
	p.cmd = exec.Command(r.argv[0], r.argv[1:]...)
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr, p.cmd.Stdout = r.dir, r.env, commandAttributes(), output
	if !r.quiet {
		p.cmd.Stderr = output
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

// startSupervised starts the command below a supervisor, one that waits or a new one.
func (r command) startSupervised(output *os.File, isolated bool) (*process, error) {
	p := &process{mark: r.mark, callMark: proctable.NewCallMark(), done: make(chan struct{}), guard: r.guard}
	p.supervisor = r.spare.takeFitting(isolated)
	if p.supervisor != nil && r.sendOrder(p, output) != nil {
		p.supervisor = nil
	}
	if p.supervisor == nil {
		var err error
		if p.supervisor, err = startSupervisor(r.supervisor, isolated); err != nil {
			return nil, err
		}
		if err := r.sendOrder(p, output); err != nil {
			return nil, err
		}
	}
	p.cmd = p.supervisor.cmd
	go r.followSupervisor(p)
	return p, nil
}

// sendOrder sends the order for the command to its supervisor.
func (r command) sendOrder(p *process, output *os.File) error {
	// Words with NUL bytes cannot be sent; the supervisor has no other command to wait for.
	argv, err := joinWords(r.argv)
	env, envErr := joinWords(r.env)
	if err := errors.Join(err, envErr); err != nil {
		p.supervisor.endProcess()
		return err
	}
	o := supervisorOrder{
		Argv: argv, Env: env, Dir: []byte(r.dir), GraceMS: r.grace.Milliseconds(),
		Processes: r.processes, Mark: p.callMark, Quiet: r.quiet, HasRuleset: r.readRuleset != nil,
		Guard: r.guard, Watch: r.background,
	}
	// The descriptors follow in the order in which prepareProcess takes them.
	files := []*os.File{output}
	if !r.quiet {
		files = append(files, output)
	}
	if o.HasRuleset {
		files = append(files, r.readRuleset)
	}
	if r.policy != nil {
		policy := *r.policy
		policy.Namespace, o.Policy = p.supervisor.namespace, &policy
	}
	return p.supervisor.sendOrder(o, files...)
}

// followSupervisor waits for the command, and then for the processes that it left behind.
func (r command) followSupervisor(p *process) {
	defer func() { _ = p.supervisor.conn.Close() }()
	code, ok := p.supervisor.readUntilExit(func(found protected.GuardReport) { r.showFound(p, found) })
	if p.exit, p.unreported = code, !ok; !ok {
		p.waitExit()
	}
	close(p.done)
	if ok {
		p.supervisor.readAll(func(found protected.GuardReport) { r.noteFound(found, true) })
		_ = p.cmd.Wait()
	}
}

// waitExit waits for the started process.
func (p *process) waitExit() {
	_ = p.cmd.Wait() // ProcessState has the exit status
	p.exit, p.signal = exitStatus(p.cmd.ProcessState)
}

// showFound keeps a finding of the guard for the end of the output. For a command in the background it adds the finding
// to the output at once.
func (r command) showFound(p *process, found protected.GuardReport) {
	if !r.background {
		p.found = append(p.found, found)
		return
	}
	r.noteFound(found, false)
	r.output.addNote(found.Note)
}

// noteFound logs a finding of the guard and passes it on.
func (r command) noteFound(found protected.GuardReport, late bool) {
	if found.Note != "" && r.log != nil {
		r.log.Warn("a command changed protected files", "change", found.Note)
	}
	if found.Note != "" && r.found != nil {
		r.found(found, late)
	}
}

// commandOutput collects the output of a command in one goroutine and reports it in another.
type commandOutput struct {
	mu      sync.Mutex // guards capture
	capture *tool.Capture
}

// readRecent returns the last n bytes of the output.
func (o *commandOutput) readRecent(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.ReadTail(n)
}

// formatTail returns the last characters of the output, after an ellipsis if it is longer.
func (o *commandOutput) formatTail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.capture.ReadTail(utf8.UTFMax * shownOutput)
	all := int64(len(text)) == o.capture.Len()
	if over := utf8.RuneCountInString(text) - shownOutput; over > 0 {
		skipped, _ := workpath.CutRunes(text, over)
		text, all = text[len(skipped):], false
	}
	if !all {
		text = "...\n\n" + text
	}
	return text
}

// addNote adds a paragraph to the output, unless it is empty.
func (o *commandOutput) addNote(text string) {
	if text == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.capture.Write([]byte("\n" + text + "\n"))
}

func (o *commandOutput) countBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.Len()
}

func (o *commandOutput) finishCapture(ctx context.Context) tool.CaptureResult {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.Finish(ctx)
}

// copyFrom reads the pipe until it ends or its deadline passes, and then once what the pipe holds: the output of the
// command itself, if this process was not scheduled in time to read it.
func (o *commandOutput) copyFrom(from *os.File) {
	buf := make([]byte, 128<<10) // more than a pipe holds
	for {
		n, err := from.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n = readAvailable(from, buf)
		}
		if n > 0 {
			o.mu.Lock()
			_, _ = o.capture.Write(buf[:n])
			o.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// reportProgress reports once that the command runs, then the end of the output whenever it changed.
func (o *commandOutput) reportProgress(stop <-chan struct{}, progress func(recent string)) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	progress("")
	var shown int64
	for ended := false; !ended; {
		select {
		case <-stop:
			ended = true
		case <-ticker.C:
		}
		if size := o.countBytes(); size != shown && !(ended && shown > 0) {
			shown = size
			progress(o.formatTail())
		}
	}
}
