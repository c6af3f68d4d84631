package root

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Main runs the command of this process and returns its exit code. The embedded model may be nil.
func Main(h cli.Host, embedded *llm.EmbeddedModel) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cairn: cannot find the working directory: %v\n", err)
		return int(cli.ExitFailure)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil { // sessions are listed by the real directory
		dir = real
	}
	signals := make(chan os.Signal, 4) // more than a person types before the first is read
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // of a terminal that is closed; nohup has it ignored
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	// A closed pipe is a write error, not the end of the process: a session may be working.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	return Run(context.Background(), h, cli.Process{
		Name: cli.ProgramName(
			os.Args[0],
		), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Dir: dir,
		Signals: signals, Terminal: terminal.OpenTerminal, Embedded: embedded,
	})
}

// Run is Main for a process that the caller describes.
func Run(ctx context.Context, h cli.Host, p cli.Process) int {
	a := cli.NewInvocation(h, p)
	root := program{a}.newRoot()
	root.SetArgs(p.Args)
	ctx, stop := a.HandleSignals(ctx)
	defer stop()
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && a.Out.Err != nil { // of help, which cobra writes
		a.Started, err = true, a.Out.Err
	}
	return int(a.ProcessExitCode(program{a}.reportError(cmd, err)))
}
