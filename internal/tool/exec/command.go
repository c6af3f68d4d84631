package exec

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	drainTime     = 250 * time.Millisecond // what is still in the pipe when the command has ended
	progressEvery = 250 * time.Millisecond
)

// command is one command to run.
type command struct {
	argv       []string
	supervisor []string // see Config.Supervisor; nil: none
	dir        string
	env        []string
	timeout    time.Duration // 0: none
	grace      time.Duration
	processes  int // at the same time; a supervisor counts
	output     *commandOutput
	quiet      bool // what it writes to standard error is not taken
}

// commandResult is how a command ended.
type commandResult struct {
	out         tool.Captured
	tail        string // see output
	exit        int    // 128 and the signal's number if a signal ended it
	signal      string // its name, "" if none
	timedOut    bool
	interrupted bool
}

// execute runs it to its end, the end of its time, or the end of ctx, and in the two latter cases ends everything it
// started. It waits for the command, not for whoever else holds its output: 250 ms after the command's end the pipe is
// closed. progress is told the end of the output at most four times a second.
func (r command) execute(ctx context.Context, progress func(recent string)) (commandResult, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return commandResult{}, tool.Failf("The command could not be started: %v.", workpath.Cause(err))
	}
	defer func() { _ = read.Close() }()
	p, err := r.startProcess(write)
	_ = write.Close() // the command has its own
	if err != nil {
		return commandResult{}, tool.Failf("The command could not be started: %v.", workpath.Cause(err))
	}
	o := r.output
	var copying, showing sync.WaitGroup
	copying.Go(func() { o.copyFrom(read) })
	stop := make(chan struct{})
	showing.Go(func() { o.reportProgress(stop, progress) })

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
	_ = read.SetReadDeadline(time.Now().Add(drainTime))
	copying.Wait()
	close(stop)
	showing.Wait()
	f.exit, f.signal = p.exit, p.signal
	if p.lifeline != nil && f.signal != "" { // nobody cleaned up
		p.stopAll(0)
	}
	f.tail = o.formatTail()
	f.out = o.finishCapture(ctx)
	return f, nil
}

// process is a command that runs, with everything it starts.
type process struct {
	cmd      *exec.Cmd     // the command, or its supervisor
	mark     string        // in the environment of all of them: tool.CallVariable=…
	done     chan struct{} // closed when the command has ended
	lifeline *os.File      // writing to it or closing it makes the supervisor end everything; nil without one
	report   *os.File      // where a supervisor that stays tells the exit code; nil without one

	exit   int    // how the command ended: set before ended is closed
	signal string // the name of a signal, "" if none
}

// lifelineFD and reportFD are where a supervisor finds the other ends of these.
const (
	lifelineFD = 3
	reportFD   = 4
)

// startProcess starts the command. One goroutine keeps its thread until the command has ended, because the system ends
// the command when that thread ends (see attributes). It ends when cmd was waited for: with the command, or with what
// the command left below its supervisor.
func (r command) startProcess(output *os.File) (*process, error) {
	p := &process{mark: tool.CallVariable + "=" + rand.Text(), done: make(chan struct{})}
	p.cmd = exec.Command(r.argv[0], r.argv[1:]...)
	p.cmd.SysProcAttr = commandAttributes()
	if len(r.supervisor) > 0 {
		if err := p.addSupervisor(r); err != nil {
			return nil, err
		}
	}
	p.cmd.Dir = r.dir
	p.cmd.Env = append(r.env, p.mark)
	p.cmd.Stdout = output
	if !r.quiet {
		p.cmd.Stderr = output
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		for _, f := range p.cmd.ExtraFiles {
			_ = f.Close() // the supervisor has its own
		}
		started <- err
		stays := err == nil && p.waitExit()
		for _, f := range []*os.File{p.lifeline, p.report} {
			_ = f.Close() // nil where there is no supervisor
		}
		close(p.done)
		runtime.UnlockOSThread()
		if stays {
			_ = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// waitExit waits for the command, and reports whether its supervisor stays for what the command left in the background.
func (p *process) waitExit() (stays bool) {
	if p.report != nil {
		var code [1]byte
		if n, _ := p.report.Read(code[:]); n == 1 {
			p.exit = int(code[0])
			return true
		}
	}
	_ = p.cmd.Wait() // its state says more
	p.exit, p.signal = exitStatus(p.cmd.ProcessState)
	return false
}

// addSupervisor puts a supervisor between us and the command.
func (p *process) addSupervisor(r command) error {
	far, near, err := os.Pipe()
	if err != nil {
		return err
	}
	told, tells, err := os.Pipe()
	if err != nil {
		return errors.Join(err, far.Close(), near.Close())
	}
	args := slices.Concat(r.supervisor[1:], supervisorOrder{r.grace, r.processes, r.argv}.encodeArgs())
	p.cmd = exec.Command(r.supervisor[0], args...)
	p.cmd.ExtraFiles = []*os.File{far, tells}
	p.cmd.SysProcAttr = supervisorAttributes()
	p.lifeline, p.report = near, told
	return nil
}

// commandOutput is what a command prints, taken by one goroutine and shown by another.
type commandOutput struct {
	mu      sync.Mutex // guards capture
	capture *tool.Capture
}

// readRecent returns the end of what was printed.
func (o *commandOutput) readRecent(n int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.Recent(n)
}

// formatTail is the end of what was printed as clients show it, behind a mark if there is more (spec/v1 §33.2).
func (o *commandOutput) formatTail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.capture.Recent(utf8.UTFMax * shownOutput)
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

func (o *commandOutput) countBytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.Len()
}

func (o *commandOutput) finishCapture(ctx context.Context) tool.Captured {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.capture.Finish(ctx)
}

// copyFrom takes what comes until the pipe ends or its time is over.
func (o *commandOutput) copyFrom(from *os.File) {
	buf := make([]byte, 128<<10)
	for {
		n, err := from.Read(buf)
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

// reportProgress reports that the command runs, and the end of the output while there is news: at least once.
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
