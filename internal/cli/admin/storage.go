package admin

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/spf13/cobra"
)

// storageCommand returns the command that shows the size of what cairn stores.
func (g storeCommands) storageCommand() *cobra.Command {
	cmd := g.inv.AddJSONFlag(&cobra.Command{
		Use: "storage", Short: "Show how much is stored, where, and how long it is kept", Args: cobra.NoArgs,
		Example: "  cairn storage\n  cairn storage --json",
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, _ []string) error {
			uses, err := g.inv.Host.MeasureStorage(ctx, o)
			if err != nil {
				return err
			}
			return cli.List[client.StorageUse]{
				Head:  []string{"WHAT", "SIZE", "FILES", "KEPT", "PATH"},
				Right: []string{"FILES"},
				Row: func(u client.StorageUse) []string {
					// A size that is limited is shown with its limit.
					size := formatMiB(u.Bytes)
					if u.Limit > 0 {
						size += " of " + formatMiB(u.Limit)
					}
					return []string{u.What, size, fmt.Sprint(u.Files), u.Kept, u.Path}
				},
			}.Print(g.inv, uses)
		}),
	})
	cmd.AddCommand(g.pruneCommand(), g.vacuumCommand())
	return cmd
}

func formatMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
