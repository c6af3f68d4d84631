package inspect

import (
	"context"
	"slices"
	"strings"
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
	var by []string
	var since, until, project string
	cmd := &cobra.Command{
		Use: "stats", Short: "Show token usage and costs", Args: cobra.NoArgs,
		Long: "Add up the token usage and costs of all sessions, including deleted ones, of which the project is not known. Days\n" +
			"are in UTC; on a terminal they have a chart. By agent and by tool the messages of the time are read, which takes longer.",
		Example: "  cairn stats\n  cairn stats --days 7 --json\n  cairn stats --since 2026-11-01 --project . --by agent,tool",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			q, err := newStatsQuery(days, since, until)
			if err != nil {
				return err
			}
			for _, group := range by {
				if !slices.Contains(describe.StatsGroups(), group) {
					return cli.UsageErrorf("--by takes %s, got %q", strings.Join(describe.StatsGroups(), ", "), group)
				}
			}
			q.Messages = slices.Contains(by, "agent") || slices.Contains(by, "tool")
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				if project != "" {
					id, err := g.inv.FindProject(ctx, c, project)
					if err != nil {
						return err
					}
					q.Project = string(id)
				}
				s, err := c.Stats(ctx, q)
				if err != nil {
					return err
				}
				bar := ""
				if g.inv.Out.Terminal {
					bar = terminal.NewMarks(g.inv.Env).Bar
				}
				shown := by
				if len(by) == 0 {
					shown = []string{"model", "day"}
				}
				return cli.PrintResult(g.inv, s, func(s api.Stats) { describe.WriteStats(g.inv.Out, s, bar, shown...) })
			})
		}),
	}
	cmd.Flags().IntVar(&days, "days", 0, "include only the last `N` days, including today; 0 means all")
	cmd.Flags().StringVar(&since, "since", "", "include only what is not older than this `DATE`, or than this time, such as 12h")
	cmd.Flags().StringVar(&until, "until", "", "include only what is older than this `DATE`, or than this time")
	cmd.MarkFlagsMutuallyExclusive("days", "since")
	cmd.Flags().StringVar(&project, "project", "", "include only the `PROJECT`: a name, an id or a directory (see cairn project list)")
	cmd.Flags().StringSliceVar(&by, "by", nil, "show tables by these `GROUPS`: "+strings.Join(describe.StatsGroups(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("by", cli.FixedCompletions(describe.StatsGroups()...)) // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("project", g.inv.Complete(cli.ProjectCompletions))     // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// newStatsQuery returns the query for a time: the last days, which begin at midnight UTC as the days of the server do, or from
// and until a time.
func newStatsQuery(days int, since, until string) (q api.StatsQuery, err error) {
	if days < 0 {
		return q, cli.UsageErrorf("--days must not be negative, got %d", days)
	}
	now := time.Now()
	if days > 0 {
		q.Since = now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days).UnixMilli()
	}
	from, err := cli.ParseTime("since", since, now)
	if err != nil {
		return q, err
	}
	to, err := cli.ParseTime("until", until, now)
	if !from.IsZero() {
		q.Since = from.UnixMilli()
	}
	if !to.IsZero() {
		q.Until = to.UnixMilli()
	}
	return q, err
}
