// Package undo implements `cairn undo`, `redo`, `revert` and `diff`: they take a session back and forth, with its
// messages and the files that it changed, and show what it changed. They are clients of the API.
package undo

import (
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// NewCommands returns `cairn undo`, `redo`, `revert` and `diff`.
func NewCommands(inv *cli.Invocation) []*cobra.Command {
	g := commands{inv}
	all := []*cobra.Command{g.undoCommand(), g.redoCommand(), g.revertCommand(), g.diffCommand()}
	inv.TakeOnlyHere(all...)
	return all
}

func (g commands) undoCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "undo [SESSION]", Short: "Take back the newest prompt, with the files that its answer changed",
		Long: "Take back the newest prompt of a session, its answer, and what that changed in files. Again, it goes one\n" +
			"prompt further. cairn redo goes forward; the next prompt makes it final. Files that are not as the\n" +
			"session left them stay as they are, and are named: the exit code is then 1.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn undo\n  cairn undo last --json",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			r, err := api.Reverts{Client: c}.StageRevert(ctx, s.ID, api.RevertRequest{Before: true})
			if err != nil {
				return err
			}
			return g.reportRevert(ctx, c, Result{SessionID: s.ID, Revert: r})
		}),
	})
}
