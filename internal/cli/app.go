package cli

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// app is one command being run.
type app struct {
	Process
	host  Host
	out   *stream
	err   *stream
	marks marks
	asked <-chan struct{} // closed by the first signal
	ran   bool            // the command line was understood and the command itself began
	logs  logFlags

	onInterrupt *atomic.Pointer[func()] // what Ctrl-C does instead of ending the command
}

func newApp(h Host, p Process) *app {
	return &app{
		Process: p, host: h, out: newStream(p.Stdout, p.Env), err: newStream(p.Stderr, p.Env), marks: marksFor(p.Env),
		onInterrupt: &atomic.Pointer[func()]{},
	}
}

// does wraps what a command does: from here on an error is no longer one of usage, and the first signal ends it.
func (a *app) does(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.ran = true
		ctx, stop := a.orderly(cmd.Context())
		defer stop()
		if err := f(ctx, args); err != nil {
			return err
		}
		return a.out.err
	}
}

// note tells something that the user should know.
func (a *app) note(text string) {
	a.out.freshLine()
	a.err.freshLine()
	a.err.printf("%s %s\n", a.err.paint(yellow, "!"), line(text, 600))
}

// printJSON writes one document.
func (a *app) printJSON(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	_, err = a.out.Write(append(b, '\n'))
	return err
}

func jsonFlag(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "json", false, "print JSON")
}
