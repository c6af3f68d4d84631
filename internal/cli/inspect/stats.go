package inspect

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// statsCommand is `cairn stats`.
type statsCommand struct{ inv *cli.Invocation }

// statsFlags are the flags of `cairn stats`.
type statsFlags struct {
	days                  int
	since, until, project string
	by                    []string
}

// statsCommand returns the command that shows token usage and costs.
func (g statsCommand) statsCommand() *cobra.Command {
	var flags statsFlags
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "stats", Short: "Show token usage and costs", Args: cobra.NoArgs,
		Long: "Add up the token usage and costs of all sessions, including deleted ones, of which the project is not known. Days\n" +
			"are those of the time zone of this machine, or in UTC if it has no name; on a terminal they have a chart. By agent and\n" +
			"by tool the messages of the time are read, which takes longer. The rows of agents exclude deleted sessions, undone\n" +
			"turns, titles, summaries and failed attempts, and include turns that were cut off, so they do not add up to the first\n" +
			"line. Sessions imported from other programs, which cost nothing here, count there only; those of cairn's own export in all.",
		Example: "  cairn stats\n  cairn stats --days 7 --json\n  cairn stats --since 2026-11-01 --project . --by agent,tool",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if cmd.Flags().Changed("by") && len(flags.by) == 0 {
				return cli.UsageErrorf("--by takes %s, got nothing", strings.Join(describe.StatsGroups(), ", "))
			}
			return g.showStats(ctx, flags)
		}),
	}
	f := cmd.Flags()
	f.IntVar(&flags.days, "days", 0, "include only the last `N` days, including today; 0 means all")
	f.StringVar(&flags.since, "since", "", "include only what is not older than this `DATE`, or than this time, such as 12h")
	f.StringVar(&flags.until, "until", "", "include only what is older than this `DATE`, or than this time")
	cmd.MarkFlagsMutuallyExclusive("days", "since")
	f.StringVar(&flags.project, "project", "", "include only the `PROJECT`: a name, an id or a directory (see cairn project list)")
	f.StringSliceVar(&flags.by, "by", nil, "show tables by these `GROUPS`: "+strings.Join(describe.StatsGroups(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("by", cli.FixedCompletions(describe.StatsGroups()...)) // the flag exists
	_ = cmd.RegisterFlagCompletionFunc("project", g.inv.Complete(cli.ProjectCompletions))     // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// showStats prints the sum, and tables by the groups.
func (g statsCommand) showStats(ctx context.Context, flags statsFlags) error {
	q, err := flags.query(api.FindTimeZone(g.inv.Env), time.Now())
	if err != nil {
		return err
	}
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		// Add up.
		if flags.project != "" {
			id, err := g.inv.FindProject(ctx, c, flags.project)
			if err != nil {
				return err
			}
			q.Project = string(id)
		}
		s, err := c.Stats(ctx, q)
		if err != nil {
			return err
		}
		// Show it; only people get a chart.
		groups, bar := flags.by, ""
		if len(groups) == 0 {
			groups = []string{"model", "day"}
		}
		if g.inv.Out.Terminal {
			bar = terminal.NewMarks(g.inv.Env).Bar
		}
		return cli.PrintResult(g.inv, s, func(s api.Stats) { describe.WriteStats(g.inv.Out, s, bar, groups...) })
	})
}

// maxDays bounds --days.
const maxDays = 36_500

// query returns the query without the project. Its days begin at midnight in the zone, as those of the server do; the zone ""
// is UTC.
func (f statsFlags) query(zone session.TimeZone, now time.Time) (api.StatsQuery, error) {
	q := api.StatsQuery{
		Timezone: string(zone), Messages: slices.Contains(f.by, "agent") || slices.Contains(f.by, "tool"),
	}
	for _, group := range f.by {
		if !slices.Contains(describe.StatsGroups(), group) {
			return q, cli.UsageErrorf("--by takes %s, got %q", strings.Join(describe.StatsGroups(), ", "), group)
		}
	}
	// The time begins with a day, or with --since.
	if now = now.UTC(); zone != "" {
		now = zone.ConvertTime(now)
	}
	if f.days < 0 || f.days > maxDays {
		return q, cli.UsageErrorf("--days takes a number from 0 to %d, got %d", maxDays, f.days)
	}
	if f.days > 0 {
		year, month, day := now.Date()
		q.Since = time.Date(year, month, day+1-f.days, 0, 0, 0, 0, now.Location()).UnixMilli()
	}
	since, err := cli.ParseTime("since", f.since, now)
	if err != nil {
		return q, err
	}
	until, err := cli.ParseTime("until", f.until, now)
	if !since.IsZero() {
		q.Since = since.UnixMilli()
	}
	if !until.IsZero() {
		q.Until = until.UnixMilli()
	}
	if err == nil && q.Since > 0 && q.Until > 0 && q.Until <= q.Since {
		err = cli.UsageErrorf("nothing is older than --until and not older than --since or --days; --until takes a later time")
	}
	return q, err
}
