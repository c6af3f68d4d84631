package screen

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"
)

// silentTerminal is a terminal on which nothing is written.
type silentTerminal struct{ file *os.File }

func (t silentTerminal) Read(b []byte) (int, error)  { return t.file.Read(b) }
func (t silentTerminal) Write(b []byte) (int, error) { return len(b), nil }
func (t silentTerminal) Close() error                { return t.file.Close() }
func (t silentTerminal) Fd() uintptr                 { return t.file.Fd() }

// SilenceTerminal returns the output for Bubble Tea, which sets the mode of a terminal and asks for its size. Nothing
// is written to it: a Screen draws the frames, because the renderer of Bubble Tea takes the processor 60 times a second
// also while nothing changes.
func SilenceTerminal(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok {
		return silentTerminal{f}
	}
	return io.Discard
}

// ErrStalled says that the terminal takes no output.
var ErrStalled = errors.New("the terminal takes no output")

// stallTimeout is the time that a program gets to end after its context ends.
const stallTimeout = 2 * time.Second

// RunProgram runs a program that draws on the screen, and closes the screen. If this has not ended stallTimeout after
// ctx, because a write to the terminal waits for as long as the terminal is not read, the terminal gets its mode back
// and RunProgram returns ErrStalled; neither the program nor the screen must be used then.
func (s *Screen) RunProgram(ctx context.Context, run func() error) error {
	f, isFile := s.out.(*os.File)
	var before *term.State
	if isFile {
		before, _ = term.GetState(int(f.Fd())) // nil if it is not a terminal
	}
	ended := make(chan error, 1)
	go func() { // ends with the program, or with the process
		err := run()
		s.Close()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.lent <- struct{}{} // a command that has the terminal ends first
	<-s.lent
	select {
	case err := <-ended:
		return err
	case <-time.After(stallTimeout):
		if before != nil {
			_ = term.Restore(int(f.Fd()), before)
		}
		return ErrStalled
	}
}

// Command is a command that has the terminal of a screen while it runs. It implements tea.ExecCommand.
type Command struct {
	*exec.Cmd
	Screen *Screen
}

// SetStdin implements tea.ExecCommand.
func (c Command) SetStdin(r io.Reader) { c.Stdin = r }

// SetStdout implements tea.ExecCommand. The command writes to the terminal, not to what Bubble Tea has for it.
func (c Command) SetStdout(io.Writer) { c.Stdout = c.Screen.out }

// SetStderr implements tea.ExecCommand.
func (c Command) SetStderr(w io.Writer) { c.Stderr = w }

// Run runs the command on the terminal without the modes of the screen.
func (c Command) Run() error {
	c.Screen.lent <- struct{}{}
	defer func() { <-c.Screen.lent }()
	c.Screen.Close()
	defer c.Screen.Open()
	return c.Cmd.Run()
}
