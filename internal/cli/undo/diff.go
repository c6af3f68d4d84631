package undo

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// diffFlags are the flags of `cairn diff`.
type diffFlags struct {
	stat    bool
	turn    int
	against string
}

// diffCommand returns the command that shows what a session changed in files.
func (g commands) diffCommand() *cobra.Command {
	var f diffFlags
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "diff [SESSION]", Short: "Show what a session changed in files",
		Long: "Show what a session's tools and commands changed in files until now, without what was taken back, in git's\n" +
			"form. On a terminal it is coloured and shown by the program that PAGER names, else by less.\n" +
			"Changes that others made to the files are not included.",
		Args: cobra.MaximumNArgs(1),
		Example: "  cairn diff\n  cairn diff last --stat\n" +
			"  cairn diff --turn -1                   only what the newest prompt led to\n" +
			"  cairn diff --against ses_…             between a session and its fork",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			byTurn := cmd.Flags().Changed("turn")
			if byTurn && f.against != "" {
				return cli.UsageErrorf("--turn and --against exclude each other")
			}
			var diff api.SessionDiff
			err := g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) (err error) {
					const linesOfContext = 3
					q := api.DiffSelection{Context: linesOfContext}
					// Resolve the prompt and the other session while the client is connected.
					if byTurn {
						if q.From, err = cli.FindPrompt(ctx, c, s, f.turn); err != nil {
							return err
						}
					}
					if q.Against, err = g.inv.FindSessionID(ctx, c, f.against); err != nil {
						return err
					}
					diff, err = api.Reverts{Client: c}.ReadDiff(ctx, s.ID, q)
					return err
				})
			if err != nil {
				return err
			}
			return g.printDiff(diff, f) // the store is closed while a person reads
		}),
	}
	cmd.Flags().BoolVar(&f.stat, "stat", false, "list the files with the numbers of lines")
	cmd.Flags().IntVar(&f.turn, "turn", 0, "only what the answers to prompt `N` changed: 1 is the first, -1 the newest")
	cmd.Flags().StringVar(&f.against, "against", "", "what differs from the files of this `SESSION`")
	_ = cmd.RegisterFlagCompletionFunc("against", g.inv.Complete(g.inv.SessionCompletions)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// printDiff prints the files of a diff, and on standard error what is not known.
func (g commands) printDiff(d api.SessionDiff, f diffFlags) error {
	files := d.Data
	// Warnings follow on standard error, whatever the form of the output.
	defer func() {
		for _, file := range files {
			if len(file.Shared) > 0 {
				g.inv.Err.Printf("a command of another session, which ran at the same time, may have changed %s%s\n",
					terminal.FirstLine(file.Path.Quote(), 400), formatAuthors("session", file.Shared))
			}
		}
		for _, text := range d.Unknown {
			g.inv.Err.Printf("there may be further changes: %s\n", terminal.FirstLine(text, 400))
		}
	}()
	switch {
	case g.inv.JSON:
		// With --stat, JSON has no patches.
		if f.stat {
			for i := range files {
				files[i].Patch = ""
			}
		}
		return g.inv.PrintJSON(files)
	case len(files) == 0:
		known := ""
		if len(d.Unknown) > 0 {
			known = " as far as is known"
		}
		g.inv.Err.Printf("no files were changed%s\n", known)
	case f.stat:
		g.printStat(files)
	default:
		var b strings.Builder
		for _, file := range files {
			b.WriteString(g.formatPatch(file))
		}
		g.inv.Out.Page(b.String(), g.inv.Env)
	}
	return nil
}

// printStat prints a line for each file, with the numbers of lines, and their sums.
func (g commands) printStat(files []session.ChangedFile) {
	t, additions, deletions := g.inv.NewTable("STATUS", "LINES", "FILE"), 0, 0
	for _, f := range files {
		lines := g.formatLines(f.Additions, f.Deletions)
		if f.Additions+f.Deletions == 0 {
			lines = describeOmission(f)
		}
		t.AddRow(f.Status, lines, terminal.FirstLine(f.Path.Quote(), 400)+formatAuthors("subagent", f.By))
		additions, deletions = additions+f.Additions, deletions+f.Deletions
	}
	t.Print()
	g.inv.Out.Printf("%s, %s\n", terminal.FormatPlural(len(files), "file"), g.formatLines(additions, deletions))
}

// describeOmission returns what the table shows for a change without lines.
func describeOmission(f session.ChangedFile) string {
	switch {
	case f.Patch == "":
		return "not shown"
	case strings.Contains(f.Patch, "\nBinary files "):
		return "binary"
	default:
		return "-"
	}
}

// formatPatch returns the patch of a file, coloured for a terminal; of a file whose patch was left out, a line that
// says so.
func (g commands) formatPatch(f session.ChangedFile) string {
	out := g.inv.Out
	if f.Patch == "" {
		about := ""
		if f.Additions+f.Deletions > 0 {
			about = ", " + g.formatLines(f.Additions, f.Deletions)
		}
		head := out.PaintText(terminal.Bold, terminal.FirstLine(f.Path.Quote(), 400))
		return fmt.Sprintf("%s: %s%s; too large to be shown\n", head, f.Status, about)
	}
	if !out.Terminal {
		return f.Patch
	}
	var b strings.Builder
	inHunks := false
	for line := range strings.Lines(terminal.ReplaceControls(f.Patch)) {
		text, end := strings.TrimSuffix(line, "\n"), ""
		if text != line {
			end = "\n"
		}
		inHunks = inHunks || strings.HasPrefix(text, "@@")
		b.WriteString(out.PaintText(styleOf(text, inHunks), text) + end)
	}
	return b.String()
}

// styleOf returns the style of a line of a patch. Lines before the first hunk are bold.
func styleOf(line string, inHunks bool) string {
	switch {
	case !inHunks:
		return terminal.Bold
	case strings.HasPrefix(line, "@@"):
		return terminal.Cyan
	case strings.HasPrefix(line, "+"):
		return terminal.Green
	case strings.HasPrefix(line, "-"):
		return terminal.Red
	default:
		return ""
	}
}
