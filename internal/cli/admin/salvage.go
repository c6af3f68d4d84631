package admin

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// salvageCommand returns the command that copies the readable part of a damaged store.
func (g storeCommands) salvageCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "salvage DIR", Short: "Copy what can be read of a damaged store into a new home", Args: cobra.ExactArgs(1),
		Long: "Copy the readable part of the store into the new directory DIR without changing the store. Each session\n" +
			"keeps its events up to the first one that is lost. Exit with 1 if anything was lost. To look at the\n" +
			"result, set CAIRN_HOME=DIR; to use it, replace the old data directory by DIR/data.",
		Example: "  cairn salvage ~/salvaged\n  CAIRN_HOME=~/salvaged cairn session list --all",
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, args []string) error {
			dir, err := g.inv.ResolvePath(args[0])
			if err != nil {
				return err
			}
			// Copy, report, then fail if anything was lost: scripts must not take a part for the whole.
			s, err := g.inv.Host.Salvage(ctx, o, dir)
			if err != nil {
				return err
			}
			err = cli.PrintResult(g.inv, s, g.showSalvage)
			if err == nil && !s.IsComplete() {
				err = &cli.ExitError{Code: cli.ExitFailure}
			}
			return err
		}),
	})
}

func (g storeCommands) showSalvage(s *check.Salvage) {
	for _, one := range s.Sessions {
		style, mark := terminal.Green, g.inv.Marks.Good
		if len(one.Lost) > 0 {
			style, mark = terminal.Red, g.inv.Marks.Bad
		}
		g.inv.Out.Printf(
			"%s %s %s: %d events kept\n",
			g.inv.Out.PaintText(style, mark),
			one.SessionID,
			terminal.FirstLine(one.Title, 70),
			one.Events,
		)
		for _, lost := range one.Lost {
			g.inv.Out.Printf("    lost: %s\n", terminal.FirstLine(lost, 300))
		}
	}
	for _, lost := range s.Lost {
		g.inv.Out.Printf("%s lost: %s\n", g.inv.Out.PaintText(terminal.Red, g.inv.Marks.Bad), terminal.FirstLine(lost, 300))
	}
	g.inv.Out.Printf("Copied %d events of %d sessions to %s.\n", s.Events, len(s.Sessions), s.Home)
	g.inv.Err.Printf("To look at them, run: CAIRN_HOME=%s cairn session list --all\n", fmt.Sprintf("%q", s.Home))
}
