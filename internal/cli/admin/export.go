package admin

import (
	"bufio"
	"context"

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
	cmd := &cobra.Command{
		Use: "export [SESSION]", Short: "Print a session as JSON, in OpenCode's format", Args: cobra.MaximumNArgs(1),
		Long: "Print a session in the format of OpenCode's export, which opencode import and cairn import read. Keys and\n" +
			"values that look like keys are removed unless --secrets is given; --sanitize removes all texts and paths.",
		Example: "  cairn export last > session.json\n  cairn export ses_… --sanitize",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			if e.Sanitize && e.Secrets {
				return cli.UsageErrorf("--sanitize removes what --secrets keeps; use one of them")
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := g.findToExport(ctx, c, args)
				if err != nil {
					return err
				}
				return g.writeExport(ctx, &e, c, s)
			})
		}),
	}
	cmd.Flags().BoolVar(&e.Sanitize, "sanitize", false, "remove all texts, paths and outputs")
	cmd.Flags().BoolVar(&e.Secrets, "secrets", false, "keep keys and values that look like keys")
	return g.inv.AddJSONFlag(cmd)
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
	s *session.Session,
) (err error) {
	g.inv.Err.Printf("Exporting session: %s\n", s.ID)
	if e.API = c; !e.Secrets {
		if e.Known, err = g.inv.CollectSecrets(ctx); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(g.inv.Out.JSON(), 64<<10)
	left, err := e.Write(ctx, w, s)
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
