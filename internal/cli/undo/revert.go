package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// revertFlags are the flags of `cairn revert`.
type revertFlags struct {
	part                    string
	preview, force, commit  bool
	filesOnly, messagesOnly bool
}

// check returns an error for flags that contradict each other or the message, "" without one.
func (f *revertFlags) check(message string) error {
	switch {
	case f.filesOnly && f.messagesOnly:
		return cli.UsageErrorf("--files-only and --messages-only exclude each other; without them both are taken back")
	case f.preview && f.commit:
		return cli.UsageErrorf("--preview and --commit exclude each other: a preview changes nothing")
	case f.force && f.messagesOnly:
		return cli.UsageErrorf("--force and --messages-only exclude each other: --force restores files")
	case message == "" && (!f.commit || f.part != "" || f.force || f.filesOnly || f.messagesOnly):
		return cli.NewExitError(cli.ExitUsage, errors.New("the message is missing: cairn revert [SESSION] MESSAGE"),
			"name the first message to take back by its id, or a prompt by its number; cairn undo takes the newest one back")
	}
	return nil
}

// revertCommand returns the command that takes a session back to before a message. Arguments are optional from the
// left: with one, it is the message, unless it is the name of a session.
func (g commands) revertCommand() *cobra.Command {
	var f revertFlags
	cmd := &cobra.Command{
		Use: "revert [SESSION] MESSAGE", Short: "Take a session back to before a message, with its files",
		Long: "Take back a prompt and everything after it: messages, and what the session's tools and commands changed in\n" +
			"files. MESSAGE is an id, the beginning of one, or the number of a prompt: 1 is the first. If it is not\n" +
			"a prompt, the prompt that it answers is taken back as well. cairn redo brings it back, prompt by\n" +
			"prompt, until a new prompt, or --commit, makes the revert final.\n\n" +
			"Files that are not as the session left them stay as they are, and are named: the exit code is then\n" +
			"1. --force restores them as well; copies of what they held are made, and their paths printed.",
		Args: cobra.MaximumNArgs(2),
		Example: "  cairn revert 3 --preview\n  cairn revert last msg_… --files-only\n  cairn revert msg_… --part prt_…\n" +
			"  cairn revert --commit                  make the staged revert final",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// The first argument names a session if there are two, or if it looks like a session.
			name := "last"
			if len(args) > 1 || len(args) == 1 && isSession(args[0]) {
				name, args = args[0], args[1:]
			}
			message := cli.FirstArg(args, "")
			// Check the combination of flags before the session is opened.
			if err := f.check(message); err != nil {
				return err
			}
			return g.inv.WithSession(ctx, name, func(ctx context.Context, c *api.Client, s *session.Session) error {
				return g.runRevert(ctx, c, s, message, f)
			})
		}),
		ValidArgsFunction: g.completeArguments,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.part, "part", "", "take MESSAGE back from this `PART` on: a text or a call of it")
	_ = cmd.RegisterFlagCompletionFunc("part", g.completePart) // the flag exists
	flags.BoolVar(&f.preview, "preview", false, "show what would happen; change nothing")
	flags.BoolVar(&f.filesOnly, "files-only", false, "keep the messages")
	flags.BoolVar(&f.messagesOnly, "messages-only", false, "keep the files as they are")
	flags.BoolVar(&f.force, "force", false, "restore files that are not as the session left them, too; keep copies")
	flags.BoolVar(&f.commit, "commit", false, "make it final; without MESSAGE, the revert that is staged")
	return g.inv.AddJSONFlag(cmd)
}

// runRevert stages or previews the revert to the message, if there is one, commits the staged revert if f says so, and
// reports.
func (g commands) runRevert(
	ctx context.Context, c *api.Client, s *session.Session, message string, f revertFlags,
) error {
	reverts := api.Reverts{Client: c}
	res := Result{SessionID: s.ID, Preview: f.preview, Committed: f.commit, Revert: s.Revert}
	// Without a message there must be a staged revert, which --commit makes final.
	if message == "" && s.Revert == nil {
		return cli.NewExitError(cli.ExitUsage,
			fmt.Errorf("nothing to commit: the session %s has no undo or revert", s.ID),
			"cairn revert MESSAGE --commit takes back from a message on and makes that final")
	}
	// Find the message and the part, and stage or preview the revert.
	if message != "" {
		id, err := cli.FindMessage(ctx, c, s, message)
		if err != nil {
			return err
		}
		var part session.PartID
		if f.part != "" {
			if part, err = cli.FindPart(ctx, c, s.ID, id, f.part); err != nil {
				return err
			}
		}
		res.Revert, err = reverts.StageRevert(ctx, s.ID, api.RevertRequest{
			MessageID: id, PartID: part, Before: true, Force: f.force, Preview: f.preview,
			Files: new(!f.messagesOnly), Messages: new(!f.filesOnly),
		})
		if err != nil {
			return err
		}
	}
	// Commit. The title is read before, since the messages are gone afterwards.
	if f.commit {
		title, err := describeRevert(ctx, c, s.ID, res.Revert)
		if err != nil {
			return err
		}
		if err := reverts.CommitRevert(ctx, s.ID); err != nil {
			return err
		}
		return g.printRevert(title, res)
	}
	return g.reportRevert(ctx, c, res)
}
