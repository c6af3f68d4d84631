package admin

import (
	"context"
	"io"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/spf13/cobra"
)

// transferCommands are `cairn export` and `cairn import`.
type transferCommands struct{ inv *cli.Invocation }

// exportOptions are the flags of cairn export.
type exportOptions struct {
	transfer.Export

	format string
	output string // a file; "" is the standard output
	dryRun bool
}

func (g transferCommands) exportCommand() *cobra.Command {
	o := exportOptions{format: "json"}
	cmd := &cobra.Command{
		Use: "export [SESSION...]", Short: "Print a session as JSON, Markdown or HTML, or its whole log",
		Long: "Print a session in the format of OpenCode's export, which opencode import and cairn import read. Keys and\n" +
			"values that look like keys are removed unless --secrets is given; --sanitize removes all texts and paths.\n\n" +
			"--format markdown prints prompts, answers and a line for each call; --format html one page with outputs, diffs,\n" +
			"todos and costs, which needs no script and loads nothing.\n\n" +
			"--format jsonl prints the whole log of the sessions and of their subagents, as it is stored, with the file\n" +
			"contents that undo and diff need and the output files of tools. Nothing is removed from it, no keys either.\n" +
			"cairn import makes the same sessions of it. The sessions must be idle.\n\n" +
			"--dry-run prints what would be removed or replaced, and no session.",
		Example: "  cairn export last > session.json\n  cairn export ses_… --sanitize --dry-run\n" +
			"  cairn export last --format html -o session.html\n  cairn export last --format jsonl -o session.jsonl",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error { return g.export(ctx, &o, c, args) })
		}),
	}
	cmd.Flags().StringVar(&o.format, "format", o.format, "`FORM`: json, in OpenCode's format, markdown, html or jsonl")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write to `FILE`, which is there whole or not at all")
	cmd.Flags().BoolVar(&o.Sanitize, "sanitize", false, "remove all texts, paths and outputs")
	cmd.Flags().BoolVar(&o.Secrets, "secrets", false, "keep keys and values that look like keys")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be removed or replaced")
	_ = cmd.RegisterFlagCompletionFunc("format", cli.FixedCompletions("json", "markdown", "html", "jsonl")) // the flag exists
	g.inv.AddJSONFlag(cmd).Flags().Lookup("json").Usage = "print what --dry-run prints as JSON"
	return cmd
}

// check refuses flags that contradict each other.
func (o *exportOptions) check(args []string) error {
	isKnown := false
	for _, f := range []string{"json", "markdown", "html", "jsonl"} {
		isKnown = isKnown || o.format == f
	}
	switch {
	case !isKnown:
		return cli.UsageErrorf("--format is json, markdown, html or jsonl, got %q", o.format)
	case o.Sanitize && o.Secrets:
		return cli.UsageErrorf("--sanitize removes what --secrets keeps; use one of them")
	case len(args) > 1 && o.format != "jsonl":
		return cli.UsageErrorf("--format %s prints one session; for several in one file use --format jsonl", o.format)
	case o.dryRun && o.output != "":
		return cli.UsageErrorf("--dry-run writes no file; leave out -o")
	}
	return nil
}

// export exports the sessions, or previews it.
func (g transferCommands) export(ctx context.Context, o *exportOptions, c *api.Client, args []string) (err error) {
	sessions, err := g.findToExport(ctx, c, args)
	if err != nil {
		return err
	}
	if o.API = c; !o.Secrets {
		if o.Known, err = g.inv.CollectSecrets(ctx); err != nil {
			return err
		}
	}
	if o.dryRun {
		return g.previewExport(ctx, o, sessions)
	}
	for _, s := range sessions {
		g.inv.Err.Printf("Exporting session: %s\n", s.ID)
	}
	left, err := g.writeOutput(o.output, func(w io.Writer) (int, error) { return o.write(ctx, w, sessions) })
	if err != nil {
		return err
	}
	g.noteExport(o, left)
	return nil
}

// write writes the sessions in the format. It returns from how many texts secrets were removed; of a log, how many
// contents are missing.
func (o *exportOptions) write(ctx context.Context, w io.Writer, sessions []*session.Session) (left int, err error) {
	switch o.format {
	case "markdown":
		return o.WriteMarkdown(ctx, w, sessions[0])
	case "html":
		return o.WriteHTML(ctx, w, sessions[0])
	case "jsonl":
		ids := make([]session.ID, len(sessions))
		for i, s := range sessions {
			ids[i] = s.ID
		}
		return o.WriteLog(ctx, w, ids)
	default:
		return o.Write(ctx, w, sessions[0])
	}
}

// noteExport says what the export lacks, or has although one may not expect it.
func (g transferCommands) noteExport(o *exportOptions, left int) {
	count := terminal.FormatCount(int64(left))
	switch {
	case o.format != "jsonl" && left > 0:
		g.inv.Note("secrets were removed from " + terminal.FormatPlural(left, "text") + "; --secrets keeps them")
	case o.format == "jsonl" && o.Sanitize:
		g.inv.Note("the log has no texts any more: it is for people, and cannot be imported")
	case o.format == "jsonl":
		if left > 0 {
			g.inv.Note(count + " contents of files are not stored any more and are not in the export: " +
				"undo and diff leave these files out")
		}
		g.inv.Note("the log is complete: it has the contents of files, and keys that were pasted; " +
			"--sanitize removes texts")
	}
}

// findToExport returns the sessions that are named, or the newest of this directory. OpenCode's id must be whole.
func (g transferCommands) findToExport(ctx context.Context, c *api.Client, args []string) ([]*session.Session, error) {
	if len(args) == 0 {
		args = []string{"last"}
	} else if g.inv.IsOpenCode() {
		s, err := c.Session(ctx, session.ID(args[0]))
		return []*session.Session{s}, cli.WithNearestSessions(ctx, c, err)
	}
	var out []*session.Session
	for _, name := range args {
		s, err := g.inv.FindSession(ctx, c, name)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}
