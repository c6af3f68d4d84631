package exec

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/protected"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

const (
	defaultDrainTime = 250 * time.Millisecond
	progressEvery    = 250 * time.Millisecond
)

// command is a command to run. Its Files are set by execute.
type command struct {
	process.Spec
	timeout time.Duration // 0 for none
	drain   time.Duration // Config.DrainTime
	output  *commandOutput
	quiet   bool         // discard standard error
	log     *slog.Logger // of what the guard finds; nil for none
	// found receives each finding of the guard; late is set for those after the end of the command; nil ignores them
	found func(r protected.GuardReport, late bool)
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
	r.Files.Output = write
	if !r.quiet {
		r.Files.Errors = write
	}
	var findings []protected.GuardReport // until the command ended
	r.Report = func(found protected.GuardReport, late bool) {
		switch {
		case late:
			r.noteFound(found, true)
		case r.Watch: // nothing waits for the end of the command
			r.noteFound(found, false)
			r.output.addNote(found.Note)
		default:
			findings = append(findings, found)
		}
	}
	p, err := process.Start(r.Spec)
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
	case <-p.Done():
	case <-late:
		f.timedOut = true
	case <-ctx.Done():
		f.interrupted = true
	}
	if f.timedOut || f.interrupted {
		p.Stop(r.Grace)
	}

	// Collect the rest of the output, the exit status and the findings of the guard.
	_ = read.SetReadDeadline(time.Now().Add(cmp.Or(r.drain, defaultDrainTime)))
	copying.Wait()
	close(stop)
	showing.Wait()
	f.exit, f.signal = p.ExitStatus()
	if p.IsUnreported() {
		p.Stop(0)
		findings = append(findings, r.Guard.Check())
	}
	for _, found := range findings {
		r.noteFound(found, false)
		o.addNote(found.Note)
	}
	f.tail = o.formatTail()
	f.out = o.finishCapture(ctx)
	return f, nil
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
