package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// GroupCommand adds the subcommands to a command that only holds others, and makes it report a missing or unknown one.
// A group of one subcommand that needs no arguments runs it.
func GroupCommand(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subcommands...)
	cmd.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("the command is missing; the commands are %s", strings.Join(subcommandNames(c), ", "))
		}
		return UnknownSubcommand(c, args[0])
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil } // Args never lets it come here
	if len(subcommands) == 1 && (subcommands[0].Args == nil || subcommands[0].Args(subcommands[0], nil) == nil) {
		runOnlySubcommand(cmd, subcommands[0])
	}
	return cmd
}

// runOnlySubcommand makes a group without arguments run its subcommand, with the same flags.
func runOnlySubcommand(group, only *cobra.Command) {
	group.Flags().AddFlagSet(only.Flags())
	group.RunE = only.RunE
	group.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return UnknownSubcommand(c, args[0])
	}
}

// UnknownSubcommand returns the error for a word that names no command below c. It suggests the nearest.
func UnknownSubcommand(c *cobra.Command, word string) error {
	names, word := subcommandNames(c), terminal.FirstLine(word, 40)
	if near := spelling.FindNearest(word, names, 1); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s?", word, near[0])
	}
	return fmt.Errorf("unknown command %q; the commands are %s", word, strings.Join(names, ", "))
}

func subcommandNames(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// FirstArg returns the first argument, or the default if there are no arguments.
func FirstArg(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}
