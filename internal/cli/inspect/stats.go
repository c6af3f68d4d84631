package inspect

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
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
				return cli.PrintResult(g.inv, s, func(s api.Stats) { describe.WriteStats(g.inv.Out, s) })
			})
		}),
	}
	cmd.Flags().IntVar(&days, "days", 0, "include only the last `N` days, including today; 0 means all")
	return g.inv.AddJSONFlag(cmd)
}
