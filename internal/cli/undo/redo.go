package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/redo"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// redoCommand returns the command that brings back what undo took. It makes the revert one step smaller.
func (g commands) redoCommand() *cobra.Command {
	var filesOnly bool
	cmd := &cobra.Command{
		Use: "redo [SESSION]", Short: "Bring back the next prompt that was taken back, with its files",
		Long: "Bring back the next prompt that cairn undo or cairn revert took back, with its answer and its files. After\n" +
			"the last one the session is as it was before. Files that were changed since stay as they are, and\n" +
			"are named: the exit code is then 1.\n\n" +
			"--files brings back the files of the newest revert that a prompt or --commit made final; again, of the\n" +
			"one before it. Copies of what the files hold are kept, and their paths printed.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn redo\n  cairn redo last --json\n  cairn redo --files",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			// The files of a revert that is final are another matter: they have no messages to bring back.
			if filesOnly {
				return g.recoverFiles(ctx, c, s.ID)
			}
			if s.Revert == nil {
				err := fmt.Errorf("nothing to redo: the session %s has no undo or revert", s.ID)
				return cli.NewExitError(cli.ExitUsage, err, "cairn undo takes the newest prompt back")
			}
			// Stage the revert at the next prompt, or remove it after the last one.
			step, err := redo.StageNext(ctx, c, s)
			if err != nil {
				return err
			}
			return g.reportRedo(ctx, c, Result{
				SessionID: s.ID, Revert: step.Revert, Restored: step.Restored, Kept: step.Kept, Unknown: step.Unknown,
				MessageID: step.Prompt,
			})
		}),
	}
	cmd.Flags().BoolVar(&filesOnly, "files", false, "bring back the files of the newest revert that is final")
	return g.inv.AddJSONFlag(cmd)
}

// recoverFiles brings back the files of the newest committed revert.
func (g commands) recoverFiles(ctx context.Context, c *api.Client, id session.ID) error {
	found, err := api.Reverts{Client: c}.RecoverFiles(ctx, id)
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		err = fmt.Errorf("no final revert of the session %s has files to bring back", id)
		return cli.NewExitError(cli.ExitUsage, err, "cairn redo brings back what an undo took back until the next prompt")
	}
	if err != nil {
		return err
	}
	res := Result{
		SessionID: id, OK: len(found.Kept) == 0, Restored: found.Files, Copies: found.Copies,
		Kept: found.Kept,
	}
	if g.inv.JSON {
		g.inv.PrintJSONLine(res)
		return g.exitError(res)
	}
	for _, p := range res.Restored {
		g.inv.Out.Printf("%-12s  %s\n", "restored", terminal.FirstLine(p.Quote(), 400))
	}
	for _, c := range res.Copies {
		g.inv.Out.Printf("  what was there: %s\n", terminal.FirstLine(c, 4096))
	}
	g.printKept("stays as it is", res.Kept)
	return g.exitError(res)
}
