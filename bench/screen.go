//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// screen is a program on a pseudo-terminal of 100 columns and 30 rows.
type screen struct {
	cmd *exec.Cmd
	tty *os.File

	mu     sync.Mutex
	output []byte
	grown  chan struct{} // closed when there is more output, and at its end
	ended  bool
}

// openScreen starts the command on a terminal.
func openScreen(cmd *exec.Cmd) (*screen, error) {
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		return nil, err
	}
	s := &screen{cmd: cmd, tty: tty, grown: make(chan struct{})}
	go s.read() // ends with the terminal
	return s, nil
}

func (s *screen) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.tty.Read(buf)
		s.mu.Lock()
		s.output = append(s.output, buf[:n]...)
		s.ended = err != nil
		close(s.grown)
		s.grown = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// awaitText waits until the output, without control sequences, has the text.
func (s *screen) awaitText(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		s.mu.Lock()
		found, ended, grown := strings.Contains(ansi.Strip(string(s.output)), text), s.ended, s.grown
		s.mu.Unlock()
		switch {
		case found:
			return nil
		case ended:
			return fmt.Errorf("%s ended without showing %q", s.cmd.Path, text)
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("%s did not show %q: %w", s.cmd.Path, text, ctx.Err())
		}
	}
}

// close leaves the program with Ctrl-C and waits for its end.
func (s *screen) close() error {
	_, err := s.tty.Write([]byte{3})
	late := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(err, s.cmd.Wait(), s.tty.Close())
}

// kill ends the program, and those that it started, at once.
func (s *screen) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // the terminal made it a group
	_ = s.cmd.Wait()
	_ = s.tty.Close()
}
