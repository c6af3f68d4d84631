package admin

import (
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/spf13/cobra"
)

// storageCommand returns the command that shows the size of what cairn stores.
func (g storeCommands) storageCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "storage", Short: "Show how much is stored, where, and how long it is kept", Args: cobra.NoArgs,
		Example: "  cairn storage\n  cairn storage --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			o, err := g.inv.HostOptions("")
			if err != nil {
				return err
			}
			uses, err := g.inv.Host.MeasureStorage(ctx, o)
			if err != nil {
				return err
			}
			if g.inv.JSON {
				return g.inv.PrintJSON(append([]client.StorageUse{}, uses...))
			}
			table := g.inv.NewTable("WHAT", "SIZE", "FILES", "KEPT", "PATH")
			for _, u := range uses {
				// A size that is limited is shown with its limit.
				size := formatMiB(u.Bytes)
				if u.Limit > 0 {
					size += " of " + formatMiB(u.Limit)
				}
				table.AddRow(u.What, size, fmt.Sprint(u.Files), u.Kept, u.Path)
			}
			table.Print()
			return nil
		}),
	})
}

func formatMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
