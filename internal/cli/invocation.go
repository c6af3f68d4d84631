package cli

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Invocation is one command being run.
type Invocation struct {
	Process
	Host     Host
	Out      *terminal.Stream
	Err      *terminal.Stream
	Marks    terminal.Marks
	Stopping <-chan struct{} // closed at the first signal
	Started  bool            // the command line was understood and the command itself began
	Logs     LogFlags
	JSON     bool   // --json is given: the output is for programs
	OnlyHere bool   // "last" is the newest session of exactly the working directory
	Owner    string // the other process that does the work, since WithClient connected; "" is this one

	OnInterrupt *atomic.Pointer[func()] // what Ctrl-C does instead of ending the command
}

func NewInvocation(h Host, p Process) *Invocation {
	return &Invocation{
		Process: p, Host: h, Out: terminal.NewStream(p.Stdout, p.Env), Err: terminal.NewStream(p.Stderr, p.Env),
		Marks:       terminal.NewMarks(p.Env),
		OnInterrupt: &atomic.Pointer[func()]{},
	}
}

// Action wraps the body of a command: its errors are no longer errors of usage, and the first signal ends its context.
func (a *Invocation) Action(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.Started = true
		ctx, stop := a.UntilSignal(cmd.Context())
		defer stop()
		if err := f(ctx, args); err != nil {
			return err
		}
		return a.Out.Err
	}
}

// Note prints a note to the user on standard error.
func (a *Invocation) Note(text string) {
	a.Out.EndLine()
	a.Err.EndLine()
	a.Err.Printf("%s %s\n", a.Err.PaintText(terminal.Yellow, "!"), terminal.FirstLine(text, 600))
}

// TakeOnlyHere makes commands take "last" as the newest session of exactly the working directory: those that change
// files, which would be another worktree's, or delete.
func (a *Invocation) TakeOnlyHere(cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.PreRun = func(*cobra.Command, []string) { a.OnlyHere = true }
	}
}

// PrintJSON prints one indented JSON document. A list without elements is [], even if v is nil.
func (a *Invocation) PrintJSON(v any) error {
	b, err := json.Marshal(
		v,
		json.Deterministic(true),
		jsontext.Multiline(true),
		jsontext.WithIndent("  "),
		jsontext.AllowInvalidUTF8(true),
	)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.Out.JSON().Write(append(b, '\n'))
	return err
}

// AddJSONFlag adds --json, which sets a.JSON, and returns the command.
func (a *Invocation) AddJSONFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.JSON, "json", false, "print JSON")
	return cmd
}

// PrintJSONLine prints one JSON object on one line.
func (a *Invocation) PrintJSONLine(v any) {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		a.Err.Printf("cairn: an event cannot be encoded: %v\n", err)
		return
	}
	_, _ = a.Out.JSON().Write(append(b, '\n')) // kept in a.out.err
}

// HostOptions returns the options of a command that works in the directory of --dir, or in the working directory.
func (a *Invocation) HostOptions(dir string) (client.Options, error) {
	return a.DirectoryOptions("--dir", dir)
}

// DirectoryOptions returns the options of a command that works in dir, or in the working directory. Errors name the
// flag or argument that dir is the value of.
func (a *Invocation) DirectoryOptions(argument, dir string) (client.Options, error) {
	env, err := a.Logs.applyLevel(a.Env)
	o := client.Options{Dir: a.Dir, Env: env, Version: a.ServerVersion(), Note: a.Note}
	if a.Embedded != nil {
		o.Program.Models = []*llm.EmbeddedModel{a.Embedded}
	}
	if dir == "" || err != nil {
		return o, err
	}
	abs, err := a.ResolvePath(dir)
	if err != nil {
		return o, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return o, UsageErrorf("%s: directory %s not found", argument, abs)
	case !info.IsDir():
		return o, UsageErrorf("%s: %s is not a directory", argument, abs)
	}
	o.Dir = abs
	return o, nil
}

func (a *Invocation) NewTable(head ...string) *terminal.Table {
	return terminal.NewTable(a.Out, head...)
}
