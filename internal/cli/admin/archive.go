package admin

import (
	"context"
	"fmt"
	"math"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

func (g sessionCommands) sessionArchive() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "archive SESSION", Short: "Hide a session from lists, or show it again with --undo", Args: cobra.ExactArgs(1),
		Example: "  cairn session archive last\n  cairn session archive last --undo\n  cairn session archive ses_… --undo",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			find := g.inv.FindSession
			if undo {
				find = g.findArchived
			}
			s, err := find(ctx, c, args[0])
			if err != nil {
				return err
			}
			err = c.Archive(ctx, s.ID, !undo)
			return g.inv.FinishChange(err, cli.Change{SessionID: s.ID}, "")
		}),
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "show it in lists again")
	return g.inv.AddJSONFlag(cmd)
}

// findArchived finds an archived session; "last" is the one of this directory that was archived last.
func (g sessionCommands) findArchived(ctx context.Context, c *api.Client, name string) (*session.Session, error) {
	if name == "last" {
		return g.lastArchived(ctx, c)
	}
	s, err := g.inv.FindSession(ctx, c, name)
	if err == nil && s.Time.Archived == 0 {
		return nil, cli.NewExitError(cli.ExitUsage, fmt.Errorf("session %s is not archived", s.ID), archivedHint)
	}
	return s, err
}

const archivedHint = "cairn session list --archived shows the archived ones"

func (g sessionCommands) lastArchived(ctx context.Context, c *api.Client) (*session.Session, error) {
	root := session.ID("")
	list, err := g.inv.ListSessions(
		ctx,
		c,
		api.SessionQuery{Directory: g.inv.Dir, Archived: true, Parent: &root},
		math.MaxInt,
	)
	if err != nil {
		return nil, err
	}
	var last *session.Session
	for _, s := range list {
		if s.Time.Archived != 0 && (last == nil || s.Time.Archived > last.Time.Archived) {
			last = s
		}
	}
	if last == nil {
		return nil, cli.NewExitError(
			cli.ExitUsage,
			fmt.Errorf("no archived session in %s", g.inv.Dir),
			archivedHint+"; with --all those of other directories too",
		)
	}
	return last, nil
}
