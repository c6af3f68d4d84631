// Package cli is the command line: what a person or a script types, and what they get to see.
//
// Every command that touches sessions is a client of the API, in this process or another's; there is no second path.
// What the model says goes to standard output, what happens around it to standard error. Standard input is read for "-"
// only. Each outcome has one exit code (exit.go). Nothing is read, opened or connected before a command needs it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// errSignal is the cause with which a signal ends a command's context.
var errSignal = errors.New("interrupted")

// Process is what a command has of the process around it.
type Process struct {
	Name    string   // of the program, as it was called; "opencode" has the habits of OpenCode's own command
	Args    []string // without the program's name
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Env     func(string) string
	Dir     string           // the working directory
	Signals <-chan os.Signal // SIGINT, SIGTERM and SIGHUP; nil: none will come
	// Terminal opens the controlling terminal for questions. It fails when there is none or when the process is in its
	// background.
	Terminal func() (io.ReadWriteCloser, error)
}

// Main runs the command of this process and returns its exit code.
func Main(h Host) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cairn: the working directory cannot be found: %v\n", err)
		return int(exitError)
	}
	signals := make(chan os.Signal, 4) // more than a person types before the first is read
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // of a terminal that is closed; nohup has it ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	// A pipe that nobody reads any more is an error of writing, not the end of the process: a session may be at work.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	return Run(context.Background(), h, Process{
		Name: programName(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Dir: dir,
		Signals: signals, Terminal: controllingTerminal,
	})
}

// Run is Main for a process that the caller describes.
func Run(ctx context.Context, h Host, p Process) int {
	a := newApp(h, p)
	root := a.root()
	root.SetArgs(p.Args)
	ctx, stop := a.obeySignals(ctx)
	defer stop()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && a.out.err != nil { // of help, which no command of ours writes
		a.ran, err = true, a.out.err
	}
	return int(a.processExitCode(a.explain(cmd, err)))
}

// obeySignals gives a command two chances: the first signal closes a.asked, upon which it ends in order; the second
// ends the context that it returns, upon which it ends at once.
func (a *app) obeySignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	asked := make(chan struct{})
	a.asked = asked
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(ended)
		for n := 1; ; {
			var sig os.Signal
			select {
			case sig = <-a.Signals:
			case <-done:
				return
			}
			if f := a.onInterrupt.Load(); f != nil && sig == os.Interrupt {
				(*f)()
				continue
			}
			switch n {
			case 1:
				close(asked)
			case 2:
				cancel(errSignal)
			}
			n++
		}
	}()
	return ctx, func() {
		close(done)
		<-ended
		cancel(nil)
	}
}

// orderly returns a context that ends at the first signal, for commands that have nothing to finish.
func (a *app) orderly(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() { // ends with the returned function
		defer close(ended)
		select {
		case <-a.asked:
			cancel(errSignal)
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
	closeTime = 30 * time.Second
	leaveTime = 300 * time.Millisecond
)
