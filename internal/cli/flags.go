package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/spf13/cobra"
)

// GroupCommand makes a command that only holds others report a missing or unknown subcommand.
func GroupCommand(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("the command is missing")
		}
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		if near := spelling.Nearest(args[0], names, 1); len(near) > 0 {
			return fmt.Errorf("unknown command %q; did you mean %s?", term.FirstLine(args[0], 40), near[0])
		}
		return fmt.Errorf(
			"unknown command %q; the commands are %s",
			term.FirstLine(args[0], 40),
			strings.Join(names, ", "),
		)
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args never lets it come here
	return cmd
}

// FirstArg returns the first argument, or the default if there are no arguments.
func FirstArg(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}
