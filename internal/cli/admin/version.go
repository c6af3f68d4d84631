package admin

import (
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/spf13/cobra"
)

// versionCommand is `cairn version`.
type versionCommand struct{ inv *cli.Invocation }

func (g versionCommand) versionCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs, Example: "  cairn version --json",
		RunE: g.inv.Action(func(context.Context, []string) error {
			if g.inv.JSON {
				return g.inv.PrintJSON(cli.ReadBuildInfo())
			}
			g.inv.Out.Printf("cairn %s\n", cli.ReadBuildInfo())
			return nil
		}),
	})
}
