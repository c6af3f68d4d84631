package admin

import (
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// summaryCommands are `cairn session summary`.
type summaryCommands struct{ inv *cli.Invocation }

func (g summaryCommands) sessionSummary() *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use: "summary [SESSION]", Short: "Show what was done in a session, in a few sentences", Args: cobra.MaximumNArgs(1),
		Long: "Show what was done in a session, in a few sentences. If the session has worked since its last summary,\n" +
			"the small model writes it anew first, which costs a request. --set replaces it by your own words, which\n" +
			"no model replaces; --set \"\" removes it. With the setting summaries, sessions of servers and of the\n" +
			"full-screen interface are summarised after work of some size by themselves.",
		Example: "  cairn session summary\n  cairn session summary last --set \"Port of the parser; tests are missing\"",
	}
	cmd.RunE = g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
		if cmd.Flags().Changed("set") {
			err := api.Summaries{Client: c}.SetText(ctx, s.ID, text)
			return g.inv.FinishChange(err, cli.Change{SessionID: s.ID}, "")
		}
		return g.showSummary(ctx, c, s.ID)
	})
	cmd.Flags().StringVar(&text, "set", "", "replace the summary by `TEXT`; an empty text removes it")
	return g.inv.AddJSONFlag(cmd)
}

func (g summaryCommands) showSummary(ctx context.Context, c *api.Client, id session.ID) error {
	sum, err := api.Summaries{Client: c}.UpdateSummary(ctx, id)
	switch {
	case err != nil:
		return err
	case g.inv.JSON:
		return g.inv.PrintJSON(sum)
	case sum == nil:
		g.inv.Err.Printf("Nothing was done in %s yet.\n", id)
	default:
		g.inv.Out.WriteText(sum.Text + "\n")
	}
	return nil
}
