package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/transfer"
)

func (a *app) importCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make a session of one that was exported, here or by OpenCode", Args: cobra.ExactArgs(1),
		Long: "Import reads a session that cairn export or opencode export wrote, and makes it one of this directory, with its id.\n" +
			"The same file again changes nothing. A file in which something is wrong is refused with its line and field, and\n" +
			"nothing is written. Rules of the session that allow something do not come along.",
		Example: "  cairn import session.json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.importFile(ctx, args[0], asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) importFile(ctx context.Context, name string, asJSON bool) error {
	if isAddress(name) {
		return usagef("nothing is fetched: save the export as a file, and import that")
	}
	path, err := a.absolute(name)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no file %s", path)
	}
	if err != nil {
		return usagef("%v", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return usagef("%s is not a regular file", path)
	}
	return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		got, err := transfer.Import(ctx, c, name, f)
		if m, ok := errors.AsType[*transfer.Malformed](err); ok {
			return &exit{exitUsage, m, "Nothing was imported."}
		}
		if err != nil {
			return err
		}
		if asJSON {
			a.changed(true, change{SessionID: got.Session.ID}, "")
			return nil
		}
		a.out.printf("Imported session: %s\n", got.Session.ID)
		if got.Known {
			a.err.printf("It was here already.\n")
		}
		return nil
	})
}
