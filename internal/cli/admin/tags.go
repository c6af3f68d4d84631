package admin

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// tagCommands are `cairn session tag`.
type tagCommands struct{ inv *cli.Invocation }

// taggedSession is what --json prints: the tags that the session has now.
type taggedSession struct {
	SessionID session.ID `json:"sessionID"`
	Tags      []string   `json:"tags"`
}

func (g tagCommands) sessionTag() *cobra.Command {
	var remove []string
	var clearAll bool
	cmd := &cobra.Command{
		Use: "tag SESSION [TAG…]", Short: "Add tags to a session, remove some, or list them", Args: cobra.MinimumNArgs(1),
		Long: "Add tags to a session, remove some, or list those that it has. A tag has up to 50 characters without spaces\n" +
			"and commas, and a session up to 20 tags. Upper and lower case are different. A fork has no tags of its source.\n" +
			"The tags that the session has then are printed. cairn session list --tag TAG lists the sessions with a tag.",
		Example: "  cairn session tag last work to-do\n  cairn session tag last --remove to-do\n" +
			"  cairn session tag ses_… --clear\n  cairn session tag last",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Check the tags before anything is connected: the errors name arguments, not fields of a request.
			change := api.SessionPatch{AddTags: args[1:], RemoveTags: remove}
			if clearAll {
				change.Tags = &[]string{}
			}
			if err := checkTags(args[1:], remove); err != nil {
				return err
			}
			return g.inv.WithSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) (err error) {
				if clearAll || len(change.AddTags)+len(change.RemoveTags) > 0 {
					s, err = c.Update(ctx, s.ID, change)
				}
				if err != nil {
					return err
				}
				return cli.PrintResult(g.inv, taggedSession{s.ID, s.Tags}, g.printTags)
			})
		}),
	}
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "remove the `TAG`; can be repeated")
	cmd.Flags().BoolVar(&clearAll, "clear", false, "remove all tags that are there; those of the arguments are added")
	_ = cmd.RegisterFlagCompletionFunc("remove", g.inv.Complete(cli.TagCompletions)) // the flag exists
	cmd.ValidArgsFunction = g.completeArguments
	return g.inv.AddJSONFlag(cmd)
}

// completeArguments completes the session, then tags.
func (g tagCommands) completeArguments(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return g.inv.Complete(g.inv.SessionCompletions)(cmd, nil, typed)
	}
	return g.inv.Complete(cli.TagCompletions)(cmd, nil, typed)
}

// printTags prints one tag a line.
func (g tagCommands) printTags(t taggedSession) {
	if len(t.Tags) == 0 {
		g.inv.Err.Printf("The session %s has no tags.\n", t.SessionID)
		return
	}
	g.inv.Out.WriteText(strings.Join(t.Tags, "\n") + "\n")
}

// checkTags returns a usage error for a tag that cannot be one.
func checkTags(lists ...[]string) error {
	for _, list := range lists {
		if _, err := session.ParseTags("", list); err != nil {
			return cli.NewExitError(cli.ExitUsage, err, "")
		}
	}
	return nil
}
