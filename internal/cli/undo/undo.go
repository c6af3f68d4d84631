// Package undo holds the commands that take a session back and forth, over messages and files, and show what it
// changed.
package undo

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// NewCommands returns `cairn undo`, `redo`, `revert` and `diff`.
func NewCommands(inv *cli.Invocation) []*cobra.Command {
	g := commands{inv}
	return []*cobra.Command{g.undoCommand(), g.redoCommand(), g.revertCommand(), g.diffCommand()}
}
