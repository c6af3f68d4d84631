package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/transfer"
	"github.com/cairn-dev/cairn/internal/transfer/sources"
	"github.com/spf13/cobra"
)

func (g transferCommands) importCommand() *cobra.Command {
	var hosts []string
	var o foreignOptions
	var since string
	cmd := &cobra.Command{
		Use:   "import FILE|URL|--from PROGRAM [PATH...]",
		Short: "Import a session that cairn or OpenCode exported, or those of another program",
		Long: "Add a session from cairn export or opencode export to this directory, with the same id, or with another one if\n" +
			"it was deleted here after it had costs. Importing the same file again changes nothing. An invalid file is rejected with the line and field of the error, and nothing\n" +
			"is written. Rules of the session that allow something are not imported.\n\n" +
			"A log from cairn export --format jsonl is recognised by its first line: all of its sessions that are\n" +
			"missing are added, whole, with what undo, diff and fork need. A file that was cut off or changed is rejected.\n\n" +
			"With the URL of a share, https://" + transfer.ShareHost +
			"/share/…, import the session that is published there.\n\n" +
			"With --from, import the sessions of another program from where it keeps them, or from the given files and\n" +
			"directories: " + strings.Join(sources.Programs(), ", ") + ". Nothing there is changed. Each session comes into its own directory.\n" +
			"The same import again brings in what is new or has changed; a session that was used here meanwhile is\n" +
			"imported as another one.\n" +
			"Rows that cannot be read are left out and named.",
		Example: "  cairn import session.json\n  cairn import session.jsonl\n  cairn import https://" + transfer.ShareHost + "/share/AbC123\n" +
			"  cairn import --from claude --since 30d --dry-run",
		RunE: g.inv.Action(func(ctx context.Context, args []string) (err error) {
			// Of another program.
			if o.from != "" {
				if o.since, err = cli.ParseTime("since", since, time.Now()); err != nil {
					return err
				}
				return g.importForeign(ctx, o, args)
			}
			// A file or a share.
			switch {
			case since != "":
				return cli.UsageErrorf("--since is for --from; omit it")
			case o.into != "":
				return cli.UsageErrorf("--into is for --from; omit it")
			case o.dryRun:
				return cli.UsageErrorf("--dry-run is for --from; omit it")
			}
			if len(args) != 1 {
				return cli.UsageErrorf("give one FILE or URL, or the program with --from %s", strings.Join(sources.Programs(), "|"))
			}
			if cli.IsURL(args[0]) {
				return g.importShare(ctx, args[0], hosts)
			}
			return g.importFile(ctx, args[0])
		}),
	}
	cmd.Flags().StringSliceVar(&hosts, "allow-host", nil, "allow shares of this `HOST[:PORT]`; can be repeated")
	cmd.Flags().StringVar(&o.from, "from", "", "import the sessions of this `PROGRAM`")
	cmd.Flags().StringVar(&since, "since", "", "with --from: only sessions changed since this `DATE`, or in this time, such as 7d")
	cmd.Flags().StringVar(&o.into, "into", "", "with --from: import sessions whose directory does not exist into `DIR`")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "with --from: say what would be imported, and write nothing")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if o.from == "" && len(args) > 0 { // one file at a time
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	_ = cmd.RegisterFlagCompletionFunc("from", cli.FixedCompletions(sources.Programs()...)) // the flag exists
	return g.inv.AddJSONFlag(cmd)
}

func (g transferCommands) importFile(ctx context.Context, name string) error {
	path, err := g.inv.ResolvePath(name)
	if err != nil {
		return err
	}
	f, _, err := statefile.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.UsageErrorf("file %s not found", path)
	}
	if err != nil {
		return cli.UsageErrorf("%v", err)
	}
	defer f.Close()
	text, closeText, err := transfer.OpenText(f)
	if err != nil {
		return cli.UsageErrorf("%v", err)
	}
	defer closeText()
	if isLog, err := transfer.IsLog(text); err != nil || isLog {
		if err != nil {
			return cli.UsageErrorf("%v", err)
		}
		return g.importLog(ctx, name, text)
	}
	return g.importFrom(ctx, name, text)
}

// importLog imports the sessions of an exported log.
func (g transferCommands) importLog(ctx context.Context, name string, from io.ReadSeeker) error {
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		got, err := transfer.ImportLog(ctx, c, name, from)
		if err != nil {
			return wrapImportError(err)
		}
		g.reportLog(got)
		return nil
	})
}

// reportLog says what the import of a log did.
func (g transferCommands) reportLog(got *api.LogImport) {
	isDeleted := func(id session.ID) bool { return slices.Contains(got.Deleted, id) }
	if g.inv.JSON {
		here := slices.DeleteFunc(slices.Clone(got.Sessions), isDeleted) // not empty: that is a conflict
		g.inv.ReportChange(cli.Change{SessionID: here[0]}, "")
		return
	}
	// The sessions.
	for _, id := range got.Sessions {
		switch {
		case isDeleted(id):
			g.inv.Note(fmt.Sprintf("session %s stays deleted: it was deleted here after it had costs, or with its parent", id))
		case got.Known || !slices.Contains(got.Here, id):
			g.inv.Out.Printf("Imported session: %s\n", id)
		}
	}
	if got.Known {
		g.inv.Err.Printf("It was imported before; nothing changed.\n")
		return
	}
	if n := len(got.Here); n > 0 {
		g.inv.Err.Printf("Imported before, unchanged: %s.\n", terminal.FormatPlural(n, "session"))
	}
	// What they lack.
	if got.Grants > 0 {
		g.inv.Note(fmt.Sprintf("rights were left out of %d events: rules and policies that allow something", got.Grants))
	}
	if got.Missing > 0 {
		g.inv.Note(fmt.Sprintf("the export has %d contents of files less than its sessions name: "+
			"undo and diff leave these files out", got.Missing))
	}
}

// wrapImportError gives an error about the document its exit code.
func wrapImportError(err error) error {
	if m, ok := errors.AsType[*transfer.FormatError](err); ok {
		return cli.NewExitError(cli.ExitUsage, m, "Nothing was imported.")
	}
	return err
}

// importShare imports a published session. A host that is allowed by its IP address may be in a private network.
func (g transferCommands) importShare(ctx context.Context, address string, hosts []string) error {
	share, err := transfer.ParseShare(address, hosts)
	if err != nil {
		return err
	}
	var allow []netip.Prefix
	if at, err := netip.ParseAddr((&url.URL{Host: share.Host}).Hostname()); err == nil &&
		share.Host != transfer.ShareHost {
		allow = append(allow, netip.PrefixFrom(at, at.BitLen()))
	}
	document, err := share.Fetch(ctx, g.inv.Host.PublicTransport(allow))
	if err != nil {
		return err
	}
	return g.importFrom(ctx, "share "+share.Slug, document)
}

func (g transferCommands) importFrom(ctx context.Context, name string, from io.ReadSeeker) error {
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		got, err := transfer.Import(ctx, c, name, from)
		if err != nil {
			return wrapImportError(err)
		}
		if g.inv.JSON {
			g.inv.ReportChange(cli.Change{SessionID: got.Session.ID}, "")
			return nil
		}
		g.inv.Out.Printf("Imported session: %s\n", got.Session.ID)
		if got.Deleted != "" {
			g.inv.Note(fmt.Sprintf("session %s was deleted here after it had costs, so it was imported under another id", got.Deleted))
		}
		if got.Known {
			g.inv.Err.Printf("It was imported before; nothing changed.\n")
		}
		return nil
	})
}
