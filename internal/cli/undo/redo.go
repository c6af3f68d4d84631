package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
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
			res, err := g.stageNext(ctx, c, s)
			if err != nil {
				return err
			}
			return g.reportRedo(ctx, c, res)
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

// stageNext brings back the first hidden prompt: it stages the revert to the hidden prompt after it in place of the
// staged revert or, without one, clears that.
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
	if s.Import != nil && len(s.Revert.Files) == 0 {
		res.Unknown = s.Revert.Unknown
	}
	return res, err
}

// narrowRevert returns the request for a revert from a later prompt on, of what the staged one takes back: messages,
// files or both.
func (g commands) narrowRevert(
	ctx context.Context, c *api.Client, s *session.Session, from session.MessageID,
) (*api.RevertRequest, error) {
	r := &api.RevertRequest{MessageID: from, Before: true, Messages: new(!s.Revert.FilesOnly)}
	if len(s.Revert.Files)+len(s.Revert.Kept)+len(s.Revert.Unknown) > 0 {
		return r, nil
	}
	// The staged revert does not record whether it is one of messages alone. It is if it has no files, and the same
	// revert of files would have some.
	same := api.RevertRequest{
		MessageID: s.Revert.MessageID, PartID: s.Revert.PartID, Before: s.Revert.Exclusive, Preview: true,
	}
	p, err := api.Reverts{Client: c}.StageRevert(ctx, s.ID, same)
	if err == nil && len(p.Files) > 0 {
		r.Files = new(false)
	}
	return r, err
}

// findHiddenPrompts returns the first prompt that the staged revert takes back, "" if it begins within an answer, and
// the next one, "" without one.
func findHiddenPrompts(
	ctx context.Context, c *api.Client, s *session.Session,
) (first, next session.MessageID, err error) {
	// Collect what the revert hides, back to the message at which it begins.
	var hidden []session.Message // newest first
	found := false
	for m, err := range cli.NewestMessages(ctx, c, s.ID) {
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
		return "", "", nil // the message was removed: the whole revert is cleared
	}
	// Go forward in time: the oldest hidden message may be the first prompt; the next prompt ends the search.
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

// readNotRestored returns the files that clearing the revert did not bring back, from the events after the seq.
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

// listRestored returns the files of the earlier revert that the redo changed: those that are neither kept nor in the
// same state in the revert that is staged now.
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
