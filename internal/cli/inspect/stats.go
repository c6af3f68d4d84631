package inspect

import (
	"cmp"
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// statsCommand is `cairn stats`.
type statsCommand struct{ inv *cli.Invocation }

// statsCommand returns the command that shows token usage and costs.
func (g statsCommand) statsCommand() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use: "stats", Short: "Show token usage and costs", Args: cobra.NoArgs,
		Long:    "Add up the token usage and costs of all sessions, including deleted ones. Days are in UTC.",
		Example: "  cairn stats\n  cairn stats --days 7 --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if days < 0 {
				return cli.UsageErrorf("--days must not be negative, got %d", days)
			}
			// The first day begins at midnight UTC, as the days of the server do.
			var since int64
			if days > 0 {
				since = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days).UnixMilli()
			}
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := c.Stats(ctx, since)
				if err != nil {
					return err
				}
				return cli.PrintResult(g.inv, s, g.showStats)
			})
		}),
	}
	cmd.Flags().IntVar(&days, "days", 0, "include only the last `N` days, including today; 0 means all")
	return g.inv.AddJSONFlag(cmd)
}

// showStats prints the sum, then a table by model and one by day.
func (g statsCommand) showStats(s api.Stats) {
	cost := describe.FormatCost(s.Cost, s.Tokens)
	if s.Tokens.Unpriced > 0 {
		cost = "cost " + cost
	}
	g.inv.Out.Printf(
		"%d sessions, %d turns, %s tokens, %s\n",
		s.Sessions,
		s.Turns,
		terminal.FormatCount(s.Tokens.Sum()),
		cost,
	)
	// By model. Tokens written to the cache are input, reasoning is output.
	if len(s.Models) > 0 {
		g.inv.Out.Printf("\n")
		t := g.inv.NewTable("MODEL", "TURNS", "IN", "CACHED", "HIT", "OUT", "COST")
		for _, m := range s.Models {
			t.AddRow(
				terminal.FirstLine(m.Model.String(), 80),
				terminal.FormatCount(int64(m.Turns)),
				terminal.FormatCount(m.Tokens.Input+m.Tokens.Cache.Write),
				terminal.FormatCount(m.Tokens.Cache.Read),
				cmp.Or(describe.FormatCacheHit(m.Tokens), "-"),
				terminal.FormatCount(m.Tokens.Output+m.Tokens.Reasoning),
				describe.FormatCost(m.Cost, m.Tokens),
			)
		}
		t.Print()
	}
	// By day, if there is more than one.
	if len(s.Days) > 1 {
		g.inv.Out.Printf("\n")
		t := g.inv.NewTable("DAY", "TURNS", "TOKENS", "COST")
		for _, d := range s.Days {
			t.AddRow(
				terminal.FirstLine(d.Day, 20),
				terminal.FormatCount(int64(d.Turns)),
				terminal.FormatCount(d.Tokens.Sum()),
				describe.FormatCost(d.Cost, d.Tokens),
			)
		}
		t.Print()
	}
}
