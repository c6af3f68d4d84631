package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// pruneCommand returns the command that deletes old sessions.
func (g storeCommands) pruneCommand() *cobra.Command {
	var r api.PruneRequest
	var age, project string
	var yes bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "prune", Short: "Delete sessions that are old, too many or too large", Args: cobra.NoArgs,
		Long: "Delete sessions with their subagents, in each project those that were not changed for longest. Without a flag\n" +
			"storage.retention of your configuration says which; servers delete these by themselves. Sessions at work, with work\n" +
			"left or with a question that waits stay. What they cost stays in cairn stats.",
		Example: "  cairn storage prune --older-than 90d --dry-run\n  cairn storage prune --keep 200 --project . --yes",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			now := time.Now()
			since, err := cli.ParseTime("older-than", age, now)
			if err != nil {
				return err
			}
			if age != "" {
				if r.Age = now.Sub(since).Milliseconds(); r.Age < 1 {
					return cli.UsageErrorf("--older-than takes a time before now, got %q", age)
				}
			}
			if cmd.Flags().Changed("keep") && r.Sessions < 1 || cmd.Flags().Changed("keep-bytes") && r.Bytes < 1 {
				return cli.UsageErrorf("--keep and --keep-bytes take a number above 0")
			}
			withClient := g.inv.WithDeleteClient
			if r.DryRun {
				withClient = g.inv.WithClient
			}
			return withClient(ctx, func(ctx context.Context, c *api.Client) error {
				if project != "" {
					id, err := g.inv.FindProject(ctx, c, project)
					if err != nil {
						return err
					}
					r.Project = string(id)
				}
				return g.prune(ctx, c, r, yes)
			})
		}),
	}
	cmd.Flags().StringVar(&age, "older-than", "", "delete those that were not changed for this `TIME`, such as 90d or 36h, or since this date")
	cmd.Flags().IntVar(&r.Sessions, "keep", 0, "keep the `N` sessions of each project that were changed last")
	cmd.Flags().Int64Var(&r.Bytes, "keep-bytes", 0, "keep so many of each project that their messages have at most `N` bytes")
	cmd.Flags().StringVar(&project, "project", "", "delete only sessions of the `PROJECT`: a name, an id or a directory")
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "show what would be deleted, and delete nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "delete without a question")
	_ = cmd.RegisterFlagCompletionFunc("project", g.inv.Complete(cli.ProjectCompletions)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

// prune shows what would be deleted, asks, and deletes.
func (g storeCommands) prune(ctx context.Context, c *api.Client, r api.PruneRequest, yes bool) error {
	if !r.DryRun && !yes {
		preview := r
		preview.DryRun = true
		found, err := c.Prune(ctx, preview)
		if err != nil || len(found.Sessions) == 0 {
			return g.printPruned(found, err)
		}
		err = g.inv.Confirm(ctx, cli.Confirmation{
			What: "delete " + terminal.FormatPlural(len(found.Sessions), "session"),
			Hint: "--dry-run lists them, --yes deletes without a question", Lines: listPruned(found.Sessions),
		})
		if err != nil {
			return err
		}
	}
	return g.printPruned(c.Prune(ctx, r))
}

func (g storeCommands) printPruned(found api.PruneResult, err error) error {
	if err != nil {
		return err
	}
	failed := 0
	for _, s := range found.Sessions {
		if s.Error != "" {
			failed++
		}
	}
	err = cli.PrintResult(g.inv, found, func(found api.PruneResult) {
		for _, line := range listPruned(found.Sessions) {
			g.inv.Out.Printf("%s\n", line)
		}
		verb := "Deleted"
		if found.DryRun {
			verb = "Nothing was deleted. To delete:"
		}
		g.inv.Err.Printf("%s %s, %d stay.\n", verb, terminal.FormatPlural(len(found.Sessions)-failed, "session"), found.Kept)
	})
	if err == nil && failed > 0 {
		err = fmt.Errorf("%s could not be deleted", terminal.FormatPlural(failed, "session"))
	}
	return err
}

// listPruned returns a line for each of the sessions.
func listPruned(sessions []api.PrunedSession) (lines []string) {
	for _, s := range sessions {
		line := []string{string(s.SessionID), terminal.FormatAge(s.Updated), terminal.FirstLine(s.Title, 60), s.Reason}
		if s.Error != "" {
			line = append(line, "not deleted: "+s.Error)
		}
		lines = append(lines, strings.Join(line, "  "))
	}
	return lines
}

// vacuumCommand returns the command that gives free space back.
func (g storeCommands) vacuumCommand() *cobra.Command {
	var r api.VacuumRequest
	cmd := &cobra.Command{
		Use: "vacuum", Short: "Give free space of the sessions back to the disk", Args: cobra.NoArgs,
		Long: "What deleted sessions leave free is used again, and servers give it back when there is much of it; this does so now.\n" +
			"Sessions go on meanwhile. The first time, a database of an earlier version is written anew, which needs room for a\n" +
			"second one and lets writes wait.",
		Example: "  cairn storage vacuum --dry-run\n  cairn storage vacuum",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				out, err := c.Vacuum(ctx, r)
				if err != nil {
					return err
				}
				return cli.PrintResult(g.inv, out, func(out api.VacuumResult) {
					if r.DryRun {
						g.inv.Out.Printf("The sessions take %s, of which %s are free.\n", formatMiB(out.Before), formatMiB(out.Free))
						return
					}
					g.inv.Out.Printf("The sessions took %s and take %s.\n", formatMiB(out.Before), formatMiB(out.After))
				})
			})
		}),
	}
	cmd.Flags().BoolVar(&r.DryRun, "dry-run", false, "show how much is free, and change nothing")
	return g.inv.AddJSONFlag(cmd)
}
