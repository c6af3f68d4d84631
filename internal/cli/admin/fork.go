package admin

import (
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// forkCommands are `cairn session fork` and `tree`.
type forkCommands struct{ inv *cli.Invocation }

// sessionFork returns the command that copies a session up to a message.
func (g forkCommands) sessionFork() *cobra.Command {
	var before, part string
	cmd := &cobra.Command{
		Use: "fork [SESSION]", Short: "Copy a session, to go on in another direction",
		Long: "Copy a session to a new one, which has the same history up to a message. Both work on the same files.\n" +
			"What is open in the session is copied as interrupted, and goes on there. The copy costs nothing.",
		Args: cobra.MaximumNArgs(1),
		Example: "  cairn session fork\n  cairn session fork last --before 3\n" +
			"  cairn run -s \"$(cairn session fork last --json | jq -r .id)\" \"Try it with a queue\"",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// A part needs the message that it belongs to.
			if part != "" && before == "" {
				return cli.UsageErrorf("--part goes with --before, which names the message of the part")
			}
			return g.inv.WithSession(ctx, cli.FirstArg(args, "last"),
				func(ctx context.Context, c *api.Client, s *session.Session) error {
					// Find where the copy ends, and copy.
					r, err := findForkPoint(ctx, c, s, before, part)
					if err != nil {
						return err
					}
					forked, err := api.Forks{Client: c}.ForkSession(ctx, s.ID, r)
					if err != nil {
						return err
					}
					// The id comes first on stdout, so that scripts can read it.
					if g.inv.JSON {
						return g.inv.PrintJSON(forked)
					}
					g.inv.Out.Printf("%s  %s\n", forked.ID, describe.SessionTitle(forked))
					g.inv.Note("continue it with: cairn run -s " + string(forked.ID) + " \"…\"")
					return nil
				})
		}),
	}
	cmd.Flags().StringVar(&before, "before", "", "copy only what comes before this `MESSAGE`, or prompt by its number")
	cmd.Flags().StringVar(&part, "part", "", "with --before: copy its parts before this `PART`")
	return g.inv.AddJSONFlag(cmd)
}

// findForkPoint returns the request for a fork before the message and part that the names stand for, "" for none.
func findForkPoint(
	ctx context.Context, c *api.Client, s *session.Session, message, part string,
) (r api.ForkRequest, err error) {
	if message != "" {
		if r.Before, err = cli.FindMessage(ctx, c, s, message); err != nil {
			return r, err
		}
	}
	if part != "" {
		r.PartID, err = cli.FindPart(ctx, c, s.ID, r.Before, part)
	}
	return r, err
}

func (g forkCommands) sessionTree() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "tree [SESSION]", Short: "Show the forks of a session and the sessions that it started",
		Long: "Show the family of a session: the session that it was copied from, the forks of that, and the sessions\n" +
			"that their calls started.",
		Args: cobra.MaximumNArgs(1), Example: "  cairn session tree\n  cairn session tree last --json",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			return g.showFamily(ctx, c, s)
		}),
	})
}

// showFamily prints the tree that the session is in.
func (g forkCommands) showFamily(ctx context.Context, c *api.Client, s *session.Session) error {
	all, err := g.inv.ListSessions(ctx, c, describe.FamilyQuery(s), describe.MaxFamily)
	if err != nil {
		return err
	}
	root := describe.NewFamily(all, s)
	return cli.PrintResult(g.inv, root, func(root *describe.FamilyNode) { g.printFamily(root, s.ID) })
}

// printFamily prints the tree. The session current is marked.
func (g forkCommands) printFamily(root *describe.FamilyNode, current session.ID) {
	out := g.inv.Out
	root.Walk(func(n *describe.FamilyNode, branch string) {
		mark := ""
		if n.ID == current {
			mark = out.PaintText(terminal.Green, " *")
		}
		age := out.PaintText(terminal.Dim, terminal.FormatAge(n.Updated))
		out.Printf("%s%s  %s  %s%s\n", branch, n.ID, n.FormatTitle(), age, mark)
	})
}
