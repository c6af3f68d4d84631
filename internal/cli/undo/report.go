package undo

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// describeRevert returns the beginning of the first message that a revert takes back, and its part, for people.
func describeRevert(ctx context.Context, c *api.Client, id session.ID, r *session.Revert) (string, error) {
	m, err := c.Message(ctx, id, r.MessageID)
	if err != nil {
		return "", err
	}
	text := describeMessage(m)
	if r.PartID != "" {
		text = "from the part " + terminal.FirstLine(string(r.PartID), 60) + " of: " + text
	}
	return text, nil
}

// reportRevert prints what a staged or planned revert did, or would do.
func (g commands) reportRevert(ctx context.Context, c *api.Client, res Result) error {
	title, err := describeRevert(ctx, c, res.SessionID, res.Revert)
	if err != nil {
		return err
	}
	return g.printRevert(title, res)
}

// printRevert prints what a revert did, or would do; title is from describeRevert. Its error has the exit code.
func (g commands) printRevert(title string, res Result) error {
	r := res.Revert
	// Complete the result; it is a success only if every file was restored.
	res.MessageID = r.MessageID
	res.OK = len(r.Kept)+len(r.Unknown) == 0
	if g.inv.JSON {
		for i := range r.Files {
			r.Files[i].Undone = "" // Patch has the same lines
		}
		g.inv.PrintJSONLine(res)
		return g.exitError(res)
	}
	// People get a headline, the files, those that stay, and what is unknown.
	out := g.inv.Out
	head := "taken back"
	if res.Preview {
		head = "would be taken back"
	}
	if r.FilesOnly {
		head += " (files only)"
	}
	out.Printf("%s: %s\n", out.PaintText(terminal.Bold, head), title)
	for _, f := range r.Files {
		g.printFile(f)
	}
	// Then the files that stay as they are, and commands whose changes are unknown.
	g.printKept("stays as it is", r.Kept)
	if len(r.Unknown) > 0 {
		out.Printf("%s\n", out.PaintText(terminal.Yellow, "may have changed files that cannot be restored:"))
	}
	for _, text := range r.Unknown {
		out.Printf("  %s\n", terminal.FirstLine(text, 400))
	}
	g.printNextSteps(res)
	return g.exitError(res)
}

// printFile prints what a revert does to a file.
func (g commands) printFile(f session.RevertedFile) {
	out := g.inv.Out
	verbs := map[string]string{"added": "brought back", "deleted": "removed", "modified": "restored"}
	out.Printf("  %-12s  %s", verbs[f.Status], terminal.FirstLine(f.Path.Quote(), 400))
	if f.Additions+f.Deletions > 0 {
		out.Printf("  %s", g.formatLines(f.Additions, f.Deletions))
	}
	if f.Reason != "" {
		out.Printf("  (%s)", terminal.FirstLine(f.Reason, 400))
	}
	out.Printf("%s\n", formatAuthors("subagent", f.By))
	if f.Copy != "" {
		out.Printf("    what it held: %s\n", terminal.FirstLine(f.Copy, 4096))
	}
	for _, c := range f.Others {
		out.Printf("    what others wrote between: %s\n", terminal.FirstLine(c, 4096))
	}
}

// formatAuthors returns the sessions in parentheses after what they are, one of them: "" without any.
func formatAuthors(what string, sessions []session.ID) string {
	if len(sessions) == 0 {
		return ""
	}
	if len(sessions) > 1 {
		what += "s"
	}
	for _, id := range sessions {
		what += " " + string(id)
	}
	return "  (" + what + ")"
}

// printKept prints the files that stay below the head, with the reasons; nothing without files.
func (g commands) printKept(head string, kept []session.KeptFile) {
	if len(kept) > 0 {
		g.inv.Out.Printf("%s\n", g.inv.Out.PaintText(terminal.Yellow, head+":"))
	}
	for _, k := range kept {
		g.inv.Out.Printf("  %s: %s\n", terminal.FirstLine(k.Path.Quote(), 400), terminal.FirstLine(k.Reason, 400))
		if k.Copy != "" {
			g.inv.Out.Printf("    what it held before: %s\n", terminal.FirstLine(k.Copy, 4096))
		}
	}
}

// printNextSteps says on standard error what can be done about a revert.
func (g commands) printNextSteps(res Result) {
	r, name := res.Revert, string(res.SessionID)
	again := "cairn revert " + name + " " + string(r.MessageID)
	if r.PartID != "" {
		again += " --part " + string(r.PartID)
	}
	if r.FilesOnly {
		again += " --files-only"
	}
	if !res.Committed && hasConflict(r.Kept) {
		g.inv.Note("to restore these files as well, with copies of what they hold: " + again + " --force")
	}
	switch {
	case res.Preview:
		g.inv.Err.Printf("nothing was changed; run it without --preview to take this back\n")
	case res.Committed:
		g.inv.Err.Printf("the revert is committed; cairn redo --files can still bring back the files\n")
	default:
		g.inv.Err.Printf("cairn redo %s brings it back; the next prompt makes it final\n", name)
	}
}

// reportRedo prints what a redo brought back. Its error has the exit code.
func (g commands) reportRedo(ctx context.Context, c *api.Client, res Result) error {
	// Files that were kept, or whose state is unknown, make it incomplete.
	res.OK = len(res.Kept)+len(res.Unknown) == 0
	if g.inv.JSON {
		g.inv.PrintJSONLine(res)
		return g.exitError(res)
	}
	// What came back: one prompt, or everything.
	text := "everything"
	if res.MessageID != "" {
		m, err := c.Message(ctx, res.SessionID, res.MessageID)
		if err != nil {
			return err
		}
		text = describeMessage(m)
	}
	// The files, then what is still taken back.
	out := g.inv.Out
	out.Printf("%s: %s\n", out.PaintText(terminal.Bold, "brought back"), text)
	for _, p := range res.Restored {
		out.Printf("  %-12s  %s\n", "restored", terminal.FirstLine(p.Quote(), 400))
	}
	g.printKept("stays as it is", res.Kept)
	for _, text := range res.Unknown {
		out.Printf("  %s\n", terminal.FirstLine(text, 400))
	}
	if res.Revert == nil {
		g.inv.Err.Printf("nothing is left to redo\n")
		return g.exitError(res)
	}
	title, err := describeRevert(ctx, c, res.SessionID, res.Revert)
	if err != nil {
		return err
	}
	g.inv.Err.Printf("still taken back: %s\n", title)
	return g.exitError(res)
}

// hasConflict reports whether a file stays that a forced revert would change.
func hasConflict(kept []session.KeptFile) bool {
	return slices.ContainsFunc(kept, func(k session.KeptFile) bool { return k.Conflict })
}

// exitError returns an error without a text, whose exit code is 1, if not everything was done; else nil.
func (g commands) exitError(res Result) error {
	if res.OK {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitFailure}
}

// formatLines returns the numbers of lines, such as "+2 -1", coloured for a terminal.
func (g commands) formatLines(additions, deletions int) string {
	out := g.inv.Out
	added, deleted := fmt.Sprintf("+%d", additions), fmt.Sprintf("-%d", deletions)
	return out.PaintText(terminal.Green, added) + " " + out.PaintText(terminal.Red, deleted)
}
