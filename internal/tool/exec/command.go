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
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/sandbox"
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

	policy      *sandbox.Policy // confines it; nil for none. It needs a supervisor
	rulesets    *sandbox.ReadRulesets
	readRuleset *os.File // of the policy, for the supervisor; nil if that makes its own
}

// commandResult is the outcome of a command.
type commandResult struct {
	out         tool.CaptureResult
	tail        string // see commandOutput.formatTail
	exit        int    // 128 plus the signal number if a signal ended it
	signal      string // name of the signal, "" if none ended it
	timedOut    bool
	interrupted bool
	exposed     []string // protected files that the command made or changed, and that could not be moved or restored
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
	if p.lifeline != nil && f.signal != "" { // the supervisor was killed and cleaned up nothing
		p.stopAll(0)
		p.found = append(p.found, p.guard.Check())
	}
	for _, found := range p.found {
		r.logFound(found)
		o.addNote(found.Note)
		f.exposed = append(f.exposed, found.Exposed...)
	}
	f.tail = o.formatTail()
	f.out = o.finishCapture(ctx)
	return f, nil
}

// process is a running command with everything that it starts.
type process struct {
	cmd      *exec.Cmd     // the command, or its supervisor
	mark     string        // tool.CallVariable=…, in the environment of the command
	callMark uint64        // of the command and its descendants, which a supervisor sets; 0 without one
	done     chan struct{} // closed when the command has ended
	lifeline *os.File      // a write or a close makes the supervisor end everything; nil without one
	report   *reportReader // of the supervisor; nil without one
	guard    *protected.FileGuard

	// set before done is closed
	exit   int                     // exit status
	signal string                  // name of the signal that ended the command, "" if none did
	found  []protected.GuardReport // by the guard, until the command ended
}

// The file descriptors of a supervisor: its ends of lifeline, which begins with the guard, and report, and
// command.readRuleset.
const (
	lifelineFD    = 3
	reportFD      = 4
	readRulesetFD = 5
)

// startProcess starts the command. A goroutine stays locked to its thread until the command has ended, because the
// system kills the command when that thread ends (see commandAttributes). The goroutine ends with the command, or with
// the processes that the command left below its supervisor.
func (r command) startProcess(output *os.File) (*process, error) {
	if err := r.wrapArgs(); err != nil {
		return nil, err
	}
	defer func() { _ = r.readRuleset.Close() }() // the supervisor has a copy; nil without a policy
	attr := supervisorAttributes()
	if argv, ok := sandbox.IsolateCommand(r.argv, attr); ok && len(r.supervisor) > 0 {
		isolated := r
		isolated.argv, isolated.guard = argv, r.guard.TrustKernel()
		if p, err := isolated.startWith(attr, output); err == nil {
			return p, nil
		} // this system forbids namespaces
	}
	r.guard.SaveContent()
	return r.startWith(supervisorAttributes(), output)
}

// wrapArgs makes argv the command line that runs the command under its policy.
func (r *command) wrapArgs() (err error) {
	if r.policy == nil {
		return nil
	}
	p := *r.policy
	if r.readRuleset, err = r.rulesets.Open(p); err == nil {
		p.ReadRuleset = readRulesetFD
	} // else the supervisor makes its own
	r.argv, err = p.WrapCommand(r.supervisor[0], r.argv)
	return err
}

// startWith starts the command: with a supervisor, below that, which gets the attributes attr. The goroutine that
// starts it also waits for it, passes the guard to the supervisor and reads its reports.
func (r command) startWith(attr *syscall.SysProcAttr, output *os.File) (*process, error) {
	p := &process{mark: tool.CallVariable + "=" + rand.Text(), done: make(chan struct{}), guard: r.guard}
	p.cmd = exec.Command(r.argv[0], r.argv[1:]...)
	p.cmd.SysProcAttr = commandAttributes()
	if len(r.supervisor) > 0 {
		if err := p.addSupervisor(r); err != nil {
			return nil, err
		}
		p.cmd.SysProcAttr = attr
	}
	p.cmd.Dir = r.dir
	p.cmd.Env = append(r.env, p.mark)
	p.cmd.Stdout = output
	if !r.quiet {
		p.cmd.Stderr = output
	}

	// Start it from the thread that waits for it.
	started := make(chan error)
	passed := p.cmd.ExtraFiles
	if r.readRuleset != nil {
		p.cmd.ExtraFiles = append(slices.Clip(passed), r.readRuleset)
	}
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		for _, f := range passed {
			_ = f.Close() // the supervisor has a copy
		}
		if err == nil && p.lifeline != nil {
			if sendGuard(p.lifeline, r.guard, r.background) != nil {
				_ = p.lifeline.Close() // the supervisor ends, and runs nothing without it
			}
		}
		started <- err
		stays := err == nil && p.waitExit(func(found protected.GuardReport) { r.showFound(p, found) })
		_ = p.lifeline.Close() // nil without a supervisor
		close(p.done)
		runtime.UnlockOSThread()
		if stays {
			p.report.readAll(r.logFound)
			_ = p.cmd.Wait()
		}
		p.report.close()
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// showFound keeps a finding of the guard for the end of the output. For a command in the background it adds the finding
// to the output at once.
func (r command) showFound(p *process, found protected.GuardReport) {
	if !r.background {
		p.found = append(p.found, found)
		return
	}
	r.logFound(found)
	r.output.addNote(found.Note)
}

// logFound logs a finding of the guard.
func (r command) logFound(found protected.GuardReport) {
	if found.Note != "" && r.log != nil {
		r.log.Warn("a command changed protected files", "change", found.Note)
	}
}

// waitExit waits for the command. stays reports that the supervisor stays for processes that the command left behind.
func (p *process) waitExit(show func(protected.GuardReport)) (stays bool) {
	if code, ok := p.report.readUntilExit(show); ok {
		p.exit = code
		return true
	}
	_ = p.cmd.Wait() // ProcessState has the exit status
	p.exit, p.signal = exitStatus(p.cmd.ProcessState)
	return false
}

// addSupervisor starts the command below a supervisor.
func (p *process) addSupervisor(r command) error {
	lifelineRead, lifelineWrite, err := os.Pipe()
	if err != nil {
		return err
	}
	reportRead, reportWrite, err := os.Pipe()
	if err != nil {
		return errors.Join(err, lifelineRead.Close(), lifelineWrite.Close())
	}
	p.callMark = proctable.NewCallMark()
	order := supervisorOrder{r.grace, r.processes, p.callMark, r.argv}
	args := slices.Concat(r.supervisor[1:], order.encodeArgs())
	p.cmd = exec.Command(r.supervisor[0], args...)
	p.cmd.ExtraFiles = []*os.File{lifelineRead, reportWrite}
	p.lifeline, p.report = lifelineWrite, &reportReader{file: reportRead}
	return nil
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
