package pty

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// terminal is one of them.
type terminal struct {
	cmd    *exec.Cmd
	file   *os.File      // our end
	turn   chan struct{} // holds one token: whoever writes takes it
	waited chan struct{} // closed when the program was waited for: its number may be another's from then on
	ended  chan struct{} // closed when it and all that it left are over, and its output is known

	mu     sync.Mutex // guards the rest
	info   Info
	output ring
	more   chan struct{} // closed when there is more output, or will be none
}

// startTerminal starts the program.
func startTerminal(info Info, env []string) (*terminal, error) {
	name := info.Command
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(info.Cwd, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, info.Args...)
	cmd.Dir, cmd.Env = info.Cwd, env
	file, err := openTerminal(cmd)
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

// Info returns what is known now.
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

// readOutput keeps output until nobody can write any more.
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
		if err != nil { // on Linux EIO says what EOF says elsewhere
			return
		}
	}
}

// wakeReaders lets all readers look again. The lock is held.
func (t *terminal) wakeReaders() {
	close(t.more)
	t.more = make(chan struct{})
}

// drain is how long output is waited for that a program's leftovers keep from ending, where they cannot be found.
const drain = time.Second

// waitExit keeps the output and returns when the program is over: then what it left in its session is ended.
func (t *terminal) waitExit() Info {
	var copying sync.WaitGroup
	copying.Go(t.readOutput)
	_ = t.cmd.Wait() // what it says is in the state
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

// writeInput types into the terminal. A program that does not read makes it wait, until ctx ends.
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

// Attachment is a reader of a terminal's output, and a keyboard. It is of one goroutine, but for Type.
type Attachment struct {
	terminal *terminal
	at       offset
	live     int64 // bytes: what is before was there when it attached
}

// The cursors with a meaning of their own.
const (
	FromStart int64 = 0  // all that is kept
	FromEnd   int64 = -1 // only what comes
)

// Attach reads behind a cursor, which counts as JavaScript does.
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

// IsReplaying reports whether what Next returns was there before the reader.
func (a *Attachment) IsReplaying() bool { return a.at.bytes < a.live }

// Cursor is where the reader is.
func (a *Attachment) Cursor() int64 { return a.at.units }

// Next returns the next output, of whole characters and at most most bytes, as soon as there is some. skipped says that
// the reader was too slow, and that there is a gap before it: Cursor is where it goes on. The error is io.EOF at the
// end, or why ctx ended.
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

// readAvailable returns what is there, or what to wait for, nil if nothing will come. After a gap it returns no text.
func (a *Attachment) readAvailable(most int) (text []byte, skipped bool, more <-chan struct{}) {
	t := a.terminal
	t.mu.Lock()
	defer t.mu.Unlock()
	text, from, lost := t.output.readAfter(a.at, most)
	if lost {
		a.at = from
		return nil, true, nil
	}
	a.at = a.at.advance(text)
	if len(text) == 0 && t.info.Status == Running {
		more = t.more
	}
	return text, false, more
}

// WriteInput sends what somebody typed to the program.
func (a *Attachment) WriteInput(ctx context.Context, p []byte) error {
	return a.terminal.writeInput(ctx, p)
}
