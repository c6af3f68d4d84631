package cli

import (
	"bufio"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer"
)

func (a *app) exportCommand() *cobra.Command {
	var e transfer.Export
	var asJSON bool // what it writes is never anything else
	cmd := &cobra.Command{
		Use: "export [SESSION]", Short: "Write a session as JSON, in OpenCode's form", Args: cobra.MaximumNArgs(1),
		Long: "Export writes all that was said and done in a session to standard output, in the form of OpenCode's export:\n" +
			"opencode import and cairn import read it. Keys and what looks like one are left out unless --secrets is given;\n" +
			"--sanitize leaves out every text and path.",
		Example: "  cairn export last > session.json\n  cairn export ses_… --sanitize",
		RunE: a.does(func(ctx context.Context, args []string) error {
			if e.Sanitize && e.Secrets {
				return usagef("--sanitize leaves out what --secrets keeps; say one of them")
			}
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := a.findToExport(ctx, c, args)
				if err != nil {
					return err
				}
				return a.export(ctx, &e, c, s)
			})
		}),
	}
	cmd.Flags().BoolVar(&e.Sanitize, "sanitize", false, "leave out texts, paths and outputs")
	cmd.Flags().BoolVar(&e.Secrets, "secrets", false, "keep what looks like a key")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// findToExport returns the session that is named, or the newest of this directory. OpenCode's id must be whole.
func (a *app) findToExport(ctx context.Context, c *api.Client, args []string) (*session.Session, error) {
	name := first(args, "last")
	if a.asOpenCode() && len(args) > 0 {
		s, err := c.Session(ctx, session.ID(name))
		return s, withNearestSessions(ctx, c, err)
	}
	return a.find(ctx, c, name)
}

func (a *app) export(ctx context.Context, e *transfer.Export, c *api.Client, s *session.Session) (err error) {
	a.err.printf("Exporting session: %s\n", s.ID)
	if e.API = c; !e.Secrets {
		if e.Known, err = a.secrets(ctx); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(a.out, 64<<10)
	left, err := e.Write(ctx, w, s)
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if left > 0 {
		a.note("secrets are left out of " + thousands(int64(left)) + " texts; --secrets keeps them")
	}
	return nil
}

// secrets are the keys and tokens that are stored here, configured, or stand in the environment for a provider. Those that
// cannot be read are told: nobody can leave them out.
func (a *app) secrets(ctx context.Context) ([]string, error) {
	store, err := a.keys()
	if err != nil {
		return nil, err
	}
	kept, missing, err := store.Secrets(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range missing {
		a.note("the export cannot leave out what it does not know: " + m.Err.Error())
	}
	o, err := a.options("")
	if err != nil {
		return nil, err
	}
	if cfg, err := a.host.Config(ctx, o); err == nil { // a broken one has none in force
		for _, id := range slices.Sorted(maps.Keys(cfg.Provider)) {
			kept = append(kept, cfg.Provider[id].Options.APIKey)
		}
	}
	var out []string
	for _, k := range kept {
		if !k.IsZero() {
			out = append(out, k.Reveal())
		}
	}
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, err
	}
	for _, p := range c.Providers() {
		for _, name := range p.Env {
			if v := strings.TrimSpace(a.Env(name)); v != "" {
				out = append(out, v)
				break // the others tell where and who
			}
		}
	}
	return out, nil
}
