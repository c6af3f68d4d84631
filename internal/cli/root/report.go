package root

import (
	"errors"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// reportError tells an error, once, and returns the exit code.
func (g program) reportError(cmd *cobra.Command, err error) cli.ExitCode {
	if err == nil {
		return cli.ExitOK
	}
	code := cli.CodeOf(err)
	if !g.inv.Started { // cobra's own: the command line was not understood
		code = cli.ExitUsage
		path := "cairn"
		if cmd != nil {
			path, err = cmd.CommandPath(), g.usageError(cmd, err)
		}
		err = cli.NewExitError(cli.ExitUsage, err, "See "+path+" --help.")
		if cmd != nil && cmd.Name() == "run" && wantsJSON(g.inv.Args) {
			printer.PrintUsageError(g.inv, err)
		}
	}
	// Print nothing for an error that was reported already, a signal, or a closed pipe.
	if e, ok := errors.AsType[*cli.ExitError](err); ok && e.Err == nil {
		return code // the command has printed its result
	}
	if errors.Is(err, cli.ErrSignal) || errors.Is(err, syscall.EPIPE) { // the person or program at the other end has caused it
		return code
	}
	// Errors may quote text of servers and models, so control characters are replaced.
	g.inv.Err.EndLine()
	g.inv.Err.Printf(
		"%s %s\n",
		g.inv.Err.PaintText(terminal.Red, "cairn:"),
		strings.TrimRight(terminal.ReplaceControls(err.Error()), "\n"),
	)
	if hint := cli.HintOf(err); hint != "" {
		g.inv.Err.Printf("%s\n", hint)
	}
	return code
}

// wantsJSON reports whether a command line that cannot be understood asks for --format json.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--format=json" || arg == "--format" && i+1 < len(args) && args[i+1] == "json" {
			return true
		}
	}
	return false
}
