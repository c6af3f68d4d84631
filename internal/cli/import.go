package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/transfer"
)

func (a *app) importCommand() *cobra.Command {
	var asJSON bool
	var hosts []string
	cmd := &cobra.Command{
		Use: "import FILE|URL", Short: "Make a session of one that was exported, here or by OpenCode", Args: cobra.ExactArgs(1),
		Long: "Import reads a session that cairn export or opencode export wrote, and makes it one of this directory, with its id.\n" +
			"The same file again changes nothing. A file in which something is wrong is refused with its line and field, and\n" +
			"nothing is written. Rules of the session that allow something do not come along.\n" +
			"With the URL of a share, https://" + transfer.ShareHost + "/share/…, the session is what was published there.",
		Example: "  cairn import session.json\n  cairn import https://" + transfer.ShareHost + "/share/AbC123",
		RunE: a.does(func(ctx context.Context, args []string) error {
			if isAddress(args[0]) {
				return a.importShare(ctx, args[0], hosts, asJSON)
			}
			return a.importFile(ctx, args[0], asJSON)
		}),
	}
	cmd.Flags().StringSliceVar(&hosts, "allow-host", nil, "fetch shares of this `HOST[:PORT]` too; can be repeated")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) importFile(ctx context.Context, name string, asJSON bool) error {
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
	return a.importFrom(ctx, name, f, asJSON)
}

// importShare imports what was published. A host that is allowed by its address may be one of a network of one's own.
func (a *app) importShare(ctx context.Context, address string, hosts []string, asJSON bool) error {
	share, err := transfer.ParseShare(address, hosts)
	if err != nil {
		return err
	}
	var allow []netip.Prefix
	if at, err := netip.ParseAddr((&url.URL{Host: share.Host}).Hostname()); err == nil && share.Host != transfer.ShareHost {
		allow = append(allow, netip.PrefixFrom(at, at.BitLen()))
	}
	document, err := share.Fetch(ctx, a.host.Public(allow))
	if err != nil {
		return err
	}
	return a.importFrom(ctx, "share "+share.Slug, document, asJSON)
}

func (a *app) importFrom(ctx context.Context, name string, from io.ReadSeeker, asJSON bool) error {
	return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		got, err := transfer.Import(ctx, c, name, from)
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
