package undo

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

func (g commands) undoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "undo [SESSION]", Short: "Take back the newest prompt, with the files that its answer changed",
		Long: "Take back the newest prompt of a session, its answer, and what that changed in files. Again, it goes one\n" +
			"prompt further. cairn redo goes forward; the next prompt makes it final. Files that are not as the\n" +
			"session left them stay as they are, and are named: the exit code is then 1.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn undo\n  cairn undo last --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					r, err := api.Reverts{Client: c}.StageRevert(ctx, s.ID, api.RevertRequest{Before: true})
					if err != nil {
						return err
					}
					return g.reportRevert(ctx, c, asJSON, Result{SessionID: s.ID, Revert: r})
				})
		}),
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (g commands) redoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "redo [SESSION]", Short: "Bring back the next prompt that was taken back, with its files",
		Long: "Bring back the next prompt that cairn undo or cairn revert took back, with its answer and its files. After\n" +
			"the last one the session is as it was before. Files that were changed since stay as they are, and\n" +
			"are named: the exit code is then 1.",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn redo\n  cairn redo last --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					if s.Revert == nil {
						return cli.NewExitError(cli.ExitUsage, errNoRevert, "cairn undo takes the newest prompt back")
					}
					res, err := g.stageNext(ctx, c, s)
					if err != nil {
						return err
					}
					return g.reportRedo(ctx, c, asJSON, res)
				})
		}),
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// stageNext stages the revert to the next prompt in place of the staged one; without a next prompt it takes that back.
func (g commands) stageNext(ctx context.Context, c *api.Client, s *session.Session) (Result, error) {
	res, reverts := Result{SessionID: s.ID}, api.Reverts{Client: c}
	head, err := c.Head(ctx, s.ID)
	if err != nil {
		return res, err
	}
	first, next, err := findHiddenPrompts(ctx, c, s)
	if err != nil {
		return res, err
	}
	res.MessageID = first
	if next == "" {
		err = reverts.ClearRevert(ctx, s.ID)
	} else {
		var r *api.RevertRequest
		if r, err = g.narrowRevert(ctx, c, s, next); err != nil {
			return res, err
		}
		res.Revert, err = reverts.StageRevert(ctx, s.ID, *r)
	}
	if err == nil {
		res.Kept, err = readNotRestored(ctx, c, s.ID, head)
	}
	res.Restored = listRestored(s.Revert, res)
	return res, err
}

// narrowRevert returns the request for what the staged revert takes back, from the prompt on: messages, files or both.
func (g commands) narrowRevert(
	ctx context.Context, c *api.Client, s *session.Session, from session.MessageID,
) (*api.RevertRequest, error) {
	r := &api.RevertRequest{MessageID: from, Before: true, Messages: new(!s.Revert.FilesOnly)}
	if len(s.Revert.Files)+len(s.Revert.Kept)+len(s.Revert.Unknown) > 0 {
		return r, nil
	}
	// A revert of messages alone has no files, although there are some to restore.
	same := api.RevertRequest{MessageID: s.Revert.MessageID, PartID: s.Revert.PartID, Preview: true}
	same.Before = s.Revert.Exclusive
	p, err := api.Reverts{Client: c}.StageRevert(ctx, s.ID, same)
	if err == nil && len(p.Files) > 0 {
		r.Files = new(false)
	}
	return r, err
}

// findHiddenPrompts returns the first prompt that the staged revert takes back, and the first one that stays taken
// back after a redo; "" for none.
func findHiddenPrompts(
	ctx context.Context, c *api.Client, s *session.Session,
) (first, next session.MessageID, err error) {
	var hidden []session.Message // newest first
	found := false
	for m, err := range newestMessages(ctx, c, s.ID) {
		if err != nil {
			return "", "", err
		}
		if m.Meta().ID == s.Revert.MessageID {
			found = true
			if s.Revert.Exclusive || s.Revert.PartID != "" {
				hidden = append(hidden, m)
			}
			break
		}
		hidden = append(hidden, m)
	}
	if !found {
		return "", "", nil // the message was removed: there is nothing to go forward to
	}
	for i, m := range slices.Backward(hidden) {
		if !isPrompt(m) {
			continue
		}
		if i == len(hidden)-1 {
			first = m.Meta().ID
			continue
		}
		return first, m.Meta().ID, nil
	}
	return first, "", nil
}

// readNotRestored returns the files that were to be brought back since the event and stayed as they are.
func readNotRestored(
	ctx context.Context, c *api.Client, id session.ID, after int64,
) (kept []session.KeptFile, err error) {
	const maxEvents = 100
	h, err := c.History(ctx, id, after, maxEvents)
	for _, e := range h.Data {
		if cleared, ok := e.Data.(*session.RevertCleared); ok {
			kept = append(kept, cleared.Kept...)
		}
	}
	return kept, err
}

// listRestored returns the files of the earlier revert that it no longer changes.
func listRestored(earlier *session.Revert, res Result) (out []session.FilePath) {
	for _, f := range earlier.Files {
		isKept := slices.ContainsFunc(res.Kept, func(k session.KeptFile) bool { return k.Path == f.Path })
		isSame := res.Revert != nil && slices.ContainsFunc(
			res.Revert.Files, func(now session.RevertedFile) bool { return now.Path == f.Path && now.To == f.To },
		)
		if !isKept && !isSame {
			out = append(out, f.Path)
		}
	}
	return out
}
