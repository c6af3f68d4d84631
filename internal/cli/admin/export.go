package admin

import (
	"bufio"
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

func (g transferCommands) exportCommand() *cobra.Command {
	var e transfer.Export
	format := "json"
	cmd := &cobra.Command{
		Use: "export [SESSION]", Short: "Print a session as JSON, Markdown or HTML", Args: cobra.MaximumNArgs(1),
		Long: "Print a session in the format of OpenCode's export, which opencode import and cairn import read. Keys and\n" +
			"values that look like keys are removed unless --secrets is given; --sanitize removes all texts and paths.\n\n" +
			"--format markdown prints prompts, answers and a line for each call; --format html one page with outputs, diffs,\n" +
			"todos and costs, which needs no script and loads nothing.",
		Example: "  cairn export last > session.json\n  cairn export ses_… --sanitize\n  cairn export last --format html > session.html",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if e.Sanitize && e.Secrets {
				return cli.UsageErrorf("--sanitize removes what --secrets keeps; use one of them")
			}
			write, err := findFormat(&e, format)
			if err != nil {
				return err
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := g.findToExport(ctx, c, args)
				if err != nil {
					return err
				}
				g.inv.Err.Printf("Exporting session: %s\n", s.ID)
				return g.writeExport(ctx, &e, c, func(w io.Writer) (left int, err error) { return write(ctx, w, s) })
			})
		}),
	}
	cmd.Flags().StringVar(&format, "format", format, "`FORM`: json, in OpenCode's format, markdown or html")
	cmd.Flags().BoolVar(&e.Sanitize, "sanitize", false, "remove all texts, paths and outputs")
	cmd.Flags().BoolVar(&e.Secrets, "secrets", false, "keep keys and values that look like keys")
	return g.inv.AddJSONFlag(cmd)
}

// findFormat returns what writes a session in the format.
func findFormat(
	e *transfer.Export, format string,
) (write func(ctx context.Context, w io.Writer, s *session.Session) (left int, err error), err error) {
	switch {
	case format == "json":
		return e.Write, nil
	case format != "markdown" && format != "html":
		return nil, cli.UsageErrorf("--format is json, markdown or html, got %q", format)
	case e.Sanitize:
		return nil, cli.UsageErrorf("--sanitize removes all texts, so that there is nothing for people to read; it is for --format json")
	case format == "html":
		return e.WriteHTML, nil
	}
	return e.WriteMarkdown, nil
}

// findToExport returns the session that is named, or the newest of this directory. OpenCode's id must be whole.
func (g transferCommands) findToExport(ctx context.Context, c *api.Client, args []string) (*session.Session, error) {
	name := cli.FirstArg(args, "last")
	if g.inv.IsOpenCode() && len(args) > 0 {
		s, err := c.Session(ctx, session.ID(name))
		return s, cli.WithNearestSessions(ctx, c, err)
	}
	return g.inv.FindSession(ctx, c, name)
}

func (g transferCommands) writeExport(
	ctx context.Context,
	e *transfer.Export,
	c *api.Client,
	write func(w io.Writer) (left int, err error),
) (err error) {
	if e.API = c; !e.Secrets {
		if e.Known, err = g.inv.CollectSecrets(ctx); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(g.inv.Out.JSON(), 64<<10)
	left, err := write(w)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if left > 0 {
		g.inv.Note("secrets were removed from " + terminal.FormatCount(int64(left)) + " texts; --secrets keeps them")
	}
	return nil
}
