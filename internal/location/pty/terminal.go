package pty

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// terminal is a program on a terminal.
type terminal struct {
	cmd    *exec.Cmd
	file   *os.File      // the controlling end
	turn   chan struct{} // has one token, which a writer holds
	waited chan struct{} // closed when the program has been waited for; its PID may be reused afterwards
	ended  chan struct{} // closed when the program and its leftovers have ended and all output is read

	mu     sync.Mutex // guards the rest
	info   Info
	output ring
	more   chan struct{} // closed when there is more output, or no more will come
}

// startTerminal starts the program.
func startTerminal(info Info, o Order) (*terminal, error) {
	name := info.Command
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(info.Cwd, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	argv := slices.Concat(o.Prefix, []string{path}, info.Args)
	cmd, file, err := openTerminal(argv, info.Cwd, terminalEnvironment(o.Env))
	if err != nil {
		return nil, err
	}
	info.PID = cmd.Process.Pid
	t := &terminal{
		cmd: cmd, file: file, turn: make(chan struct{}, 1), waited: make(chan struct{}), ended: make(chan struct{}),
		info: info, more: make(chan struct{}),
	}
	t.turn <- struct{}{}
	return t, nil
}

// Info returns the current description.
func (t *terminal) Info() Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info
}

func (t *terminal) setTitle(title string) Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	if title != "" {
		t.info.Title = title
	}
	return t.info
}

// readOutput reads output until all writers have ended.
func (t *terminal) readOutput() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := t.file.Read(buffer)
		if n > 0 {
			t.mu.Lock()
			t.output.add(buffer[:n])
			t.wakeReaders()
			t.mu.Unlock()
		}
		if err != nil { // Linux returns EIO at the end of the output, other systems EOF
			return
		}
	}
}

// wakeReaders wakes all readers. The caller holds t.mu.
func (t *terminal) wakeReaders() {
	close(t.more)
	t.more = make(chan struct{})
}

// drain bounds the wait for output of leftovers, on systems where they cannot be found.
const drain = time.Second

// waitExit reads the output, waits for the program, then ends its leftovers.
func (t *terminal) waitExit() Info {
	var copying sync.WaitGroup
	copying.Go(t.readOutput)
	_ = t.cmd.Wait() // ProcessState has the exit status
	close(t.waited)
	t.endLeftovers()
	_ = t.file.SetReadDeadline(time.Now().Add(drain))
	copying.Wait()
	_ = t.file.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.info.Status, t.info.ExitCode = Exited, exitCode(t.cmd.ProcessState)
	close(t.ended)
	t.wakeReaders()
	return t.info
}

// writeInput writes to the terminal. It blocks until the program reads or ctx ends.
func (t *terminal) writeInput(ctx context.Context, p []byte) error {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		_ = t.file.SetWriteDeadline(time.Unix(1, 0))
	})
	_, err := t.file.Write(p)
	if !stop() {
		<-cut
		_ = t.file.SetWriteDeadline(time.Time{})
	}
	return err
}

// Attachment reads the output of a terminal and writes its input. Only WriteInput may be called concurrently.
type Attachment struct {
	terminal *terminal
	at       offset
	live     int64 // in bytes: output before it existed when the reader attached
}

// Special cursors.
const (
	FromStart int64 = 0  // all kept output
	FromEnd   int64 = -1 // only new output
)

// Attach returns a reader at a cursor, which counts UTF-16 code units.
func (t *Terminals) Attach(directory, id string, cursor int64) (*Attachment, error) {
	term, err := t.findTerminal(directory, id)
	if err != nil {
		return nil, err
	}
	term.mu.Lock()
	defer term.mu.Unlock()
	a := &Attachment{terminal: term, at: term.output.end, live: term.output.end.bytes}
	if cursor >= 0 {
		a.at = term.output.offsetOf(cursor)
	}
	return a, nil
}

// IsReplaying reports whether Next returns output from before the reader attached.
func (a *Attachment) IsReplaying() bool { return a.at.bytes < a.live }

// Cursor returns the position of the reader.
func (a *Attachment) Cursor() int64 { return a.at.units }

// Next returns the next output as soon as there is any: whole characters, at most most bytes. skipped reports that the
// reader was too slow and lost output; Cursor is the position at which it continues. The error is io.EOF at the end, or
// the cause of ctx.
func (a *Attachment) Next(ctx context.Context, most int) (text []byte, skipped bool, err error) {
	for {
		text, skipped, more := a.readAvailable(most)
		if len(text) > 0 || skipped {
			return text, skipped, nil
		}
		if more == nil {
			return nil, false, io.EOF
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

// readAvailable returns available output, or a channel that is closed when there is more; nil if no more will come.
// After lost output it returns no text.
func (a *Attachment) readAvailable(most int) (text []byte, skipped bool, more <-chan struct{}) {
	t := a.terminal
	t.mu.Lock()
	defer t.mu.Unlock()
	text, from, lost := t.output.readAfter(a.at, most)
	if lost {
		a.at = from
		return nil, true, nil
	}
	a.at = a.at.advanceBy(text)
	if len(text) == 0 && t.info.Status == Running {
		more = t.more
	}
	return text, false, more
}

// WriteInput writes input to the program.
func (a *Attachment) WriteInput(ctx context.Context, p []byte) error {
	return a.terminal.writeInput(ctx, p)
}
