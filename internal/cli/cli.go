// Package cli is the command line: what a person or a script types, and what they get to see.
//
// Every command that touches sessions is a client of the API, in this process or another's; there is no second path.
// What the model says goes to standard output, what happens around it to standard error. Standard input is read for "-"
// and, if it is a pipe, attached to a prompt. Each outcome has one exit code (exit.go). Nothing is read, opened or
// connected before a command needs it.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
)

// ErrSignal is the cause with which a signal ends a command's context.
var ErrSignal = errors.New("interrupted")

// Process is the environment of a command: arguments, streams, signals and terminal.
type Process struct {
	Name    string   // of the program, as it was called; "opencode" has the habits of OpenCode's own command
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Env     func(string) string
	Dir     string           // the working directory
	Signals <-chan os.Signal // SIGINT, SIGTERM and SIGHUP; nil: none will come
	// Terminal opens the controlling terminal for questions. It fails if the process has no controlling terminal or is in
	// its background.
	Terminal func() (io.ReadWriteCloser, error)
	Embedded *llm.EmbeddedModel // a model of the program itself; nil for none
}

// HandleSignals gives a command two chances: the first signal closes Stopping, so that the command ends in order; the
// second ends the returned context, so that it ends at once.
func (a *Invocation) HandleSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	asked := make(chan struct{})
	a.Stopping = asked
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(ended)
		// n is the number of the next signal; signals that OnInterrupt takes do not count.
		for n := 1; ; {
			var sig os.Signal
			select {
			case sig = <-a.Signals:
			case <-done:
				return
			}
			if f := a.OnInterrupt.Load(); f != nil && sig == os.Interrupt {
				(*f)()
				continue
			}
			switch n {
			case 1:
				close(asked)
			case 2:
				cancel(ErrSignal)
			}
			n++
		}
	}()
	// The returned function waits for the goroutine, so that no signal is handled after it.
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}

// UntilSignal returns a context that ends at the first signal, for commands that have nothing to finish.
func (a *Invocation) UntilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return UntilReceived(ctx, a.Stopping)
}

// UntilReceived returns a context that ends with ErrSignal when something is received from stop, or when the returned
// function is called.
func UntilReceived(ctx context.Context, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() { // ends with the returned function
		defer close(ended)
		select {
		case <-stop:
			cancel(ErrSignal)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// How long a command waits for its connection to be given up: for the work of others, and after a signal.
const (
	closeTimeout = 30 * time.Second
	leaveTimeout = 300 * time.Millisecond
)
