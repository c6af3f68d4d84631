package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) modelsCommand() *cobra.Command {
	var asJSON, refresh, verbose bool
	cmd := &cobra.Command{
		Use: "models [PROVIDER]", Short: "List the models that can be used here", Args: cobra.MaximumNArgs(1),
		Long: "Models lists what run --model takes: models whose provider has a key, and those that need none. What is known of\n" +
			"them comes with this program; --refresh fetches what models.dev knows today, as cairn serve does by itself every hour.",
		Example: "  cairn models\n  cairn models openai --json\n  cairn models --refresh\n  cairn models show openai/gpt-5",
		RunE: a.does(func(ctx context.Context, args []string) error {
			if refresh {
				if err := a.refreshModels(ctx); err != nil {
					return err
				}
			}
			tell := a.heedKeys(ctx)
			all, err := a.usableModels(ctx)
			if err != nil {
				return err
			}
			defer tell(first(args, ""))
			models, err := a.ofProvider(ctx, all, first(args, ""))
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(models)
			case verbose:
				return a.connected(ctx, func(ctx context.Context, c *api.Client) error { return a.printVerboseModels(ctx, c, models) })
			case a.asOpenCode():
				a.printModelNames(models)
				return nil
			}
			t := a.table("MODEL", "CONTEXT", "IN $/M", "OUT $/M", "CAN")
			for _, m := range models {
				in, out := prices(m)
				t.row(line(m.Ref().String(), 80), size(m.Limit.Context), in, out, abilities(m))
			}
			t.print()
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().BoolVar(&refresh, "refresh", false, "first fetch what models.dev knows today")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "all that is known of each, in OpenCode's form: its name, then JSON")
	cmd.AddCommand(a.modelsShow())
	return cmd
}

func (a *app) refreshModels(ctx context.Context) error {
	o, err := a.options("")
	if err != nil {
		return err
	}
	changed, err := a.host.RefreshModels(ctx, o)
	if err != nil {
		return err
	}
	if !changed {
		a.err.printf("The list of models is as it was.\n")
	}
	return nil
}

// usableModels are those of whoever owns the store; where nobody can, those that are known without.
func (a *app) usableModels(ctx context.Context) (models []api.Model, err error) {
	err = a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		list, err := c.Models(ctx)
		models = list.Data
		return err
	})
	if err == nil || ctx.Err() != nil {
		return models, err
	}
	o, oerr := a.options("")
	if oerr != nil {
		return nil, oerr
	}
	if models, oerr = a.host.UsableModels(ctx, o); oerr != nil {
		return nil, err
	}
	a.note("nothing answers here, so this is what is known without: " + err.Error())
	return models, nil
}

// ofProvider are the models of a provider, or all for "". The error says why there are none.
func (a *app) ofProvider(ctx context.Context, models []api.Model, id string) ([]api.Model, error) {
	out := []api.Model{}
	var ids []string
	for _, m := range models {
		if m.ProviderID == id || id == "" {
			out = append(out, m)
		}
		if len(ids) == 0 || ids[len(ids)-1] != m.ProviderID {
			ids = append(ids, m.ProviderID)
		}
	}
	if len(out) > 0 || id == "" {
		return out, nil
	}
	o, err := a.options("")
	if err != nil {
		return nil, err
	}
	if why, err := a.host.Unusable(ctx, o, id); err == nil && why != "" {
		missing := session.NotFound("usable provider", id)
		missing.Message += ": " + why
		return nil, &exit{code: exitUsage, err: missing}
	}
	near := nearest(id, ids)
	if len(near) == 0 {
		near = ids
	}
	return nil, &exit{exitUsage, session.NotFound("usable provider", id, near...), "a provider is usable once it has a key: cairn auth login " + line(id, 40)}
}

func prices(m api.Model) (in, out string) {
	if len(m.Cost) == 0 {
		return "-", "-"
	}
	return m.Cost[0].Input.String(), m.Cost[0].Output.String()
}

func size(tokens int64) string {
	switch {
	case tokens <= 0:
		return "-"
	case tokens >= 1_000_000:
		return fmt.Sprintf("%.3gM", float64(tokens)/1e6)
	default:
		return fmt.Sprintf("%dk", tokens/1000)
	}
}

func abilities(m api.Model) string {
	var can []string
	if m.Capabilities.Tools {
		can = append(can, "tools")
	}
	for _, in := range m.Capabilities.Input {
		if in != "text" {
			can = append(can, line(in, 20))
		}
	}
	if m.Status != "active" {
		can = append(can, "("+line(m.Status, 20)+")")
	}
	return strings.Join(can, " ")
}

func (a *app) statsCommand() *cobra.Command {
	var asJSON bool
	var days int
	cmd := &cobra.Command{
		Use: "stats", Short: "Show what was used and what it cost", Args: cobra.NoArgs,
		Long:    "Stats adds up the ledger of all sessions, deleted ones included. Days are UTC.",
		Example: "  cairn stats\n  cairn stats --days 7 --json",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			if days < 0 {
				return usagef("--days must not be negative, got %d", days)
			}
			var since int64
			if days > 0 {
				since = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days).UnixMilli()
			}
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				s, err := c.Stats(ctx, since)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(s)
				}
				a.showStats(s)
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().IntVar(&days, "days", 0, "only the last `N` days, today included; 0 is everything")
	return cmd
}

func (a *app) showStats(s api.Stats) {
	a.out.printf("%d sessions, %d turns, %s tokens, $%s\n", s.Sessions, s.Turns, thousands(s.Tokens.Sum()), money(s.Cost))
	if len(s.Models) > 0 {
		a.out.printf("\n")
		t := a.table("MODEL", "TURNS", "IN", "CACHED", "HIT", "OUT", "COST")
		for _, m := range s.Models {
			t.row(line(m.Model.String(), 80), thousands(int64(m.Turns)), thousands(m.Tokens.Input+m.Tokens.Cache.Write),
				thousands(m.Tokens.Cache.Read), cmp.Or(cacheHit(m.Tokens), "-"), thousands(m.Tokens.Output+m.Tokens.Reasoning), "$"+money(m.Cost))
		}
		t.print()
	}
	if len(s.Days) > 1 {
		a.out.printf("\n")
		t := a.table("DAY", "TURNS", "TOKENS", "COST")
		for _, d := range s.Days {
			t.row(line(d.Day, 20), thousands(int64(d.Turns)), thousands(d.Tokens.Sum()), "$"+money(d.Cost))
		}
		t.print()
	}
}
