package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// modelCommands are `cairn models …`.
type modelCommands struct{ inv *cli.Invocation }

// modelsCommand returns the command that lists models: the usable ones, or with --all each known one.
func (g modelCommands) modelsCommand() *cobra.Command {
	var everything, refresh, verbose bool
	cmd := &cobra.Command{
		Use: "models [PROVIDER]", Short: "List the models that can be used here", Args: cobra.MaximumNArgs(1),
		Long: "List the models that run --model accepts: those whose provider has a key, and those that need no key. The\n" +
			"list is built into cairn; --refresh fetches the current one from models.dev, as cairn serve does every\n" +
			"hour. --all also lists the models that cannot be used yet, and what each needs.",
		Example: "  cairn models\n  cairn models openai --json\n  cairn models --all\n" +
			"  cairn models --refresh\n  cairn models show openai/gpt-5",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Refresh first if asked, so that the list is the new one.
			if refresh {
				if err := g.refreshModels(ctx); err != nil {
					return err
				}
			}
			if everything {
				return g.printKnownModels(ctx, cli.FirstArg(args, ""))
			}
			// Ask the server for the usable models. Notes about keys come after the list.
			tell := g.inv.CheckKeys(ctx)
			all, err := g.usableModels(ctx)
			if err != nil {
				return err
			}
			defer tell(cli.FirstArg(args, ""))
			defer g.inv.NoteOwnKeys(g.inv.Owner, cli.FirstArg(args, ""), all)
			// Print those of the provider in the form that is asked for.
			models, err := g.ofProvider(ctx, all, cli.FirstArg(args, ""))
			switch {
			case err != nil:
				return err
			case g.inv.JSON:
				return g.inv.PrintJSON(models)
			case verbose:
				return g.inv.WithClient(
					ctx,
					func(ctx context.Context, c *api.Client) error { return g.printVerboseModels(ctx, c, models) },
				)
			case g.inv.IsOpenCode():
				g.printModelNames(models)
				return nil
			}
			t := g.inv.NewTable("MODEL", "CONTEXT", "IN $/M", "OUT $/M", "CAN")
			t.Right = t.Head[1:4]
			for _, m := range models {
				in, out := formatPrices(m)
				t.AddRow(terminal.FirstLine(m.Ref().String(), 80), formatTokens(m.Limit.Context), in, out, formatAbilities(m))
			}
			t.Print()
			return nil
		}),
	}
	cmd.Flags().BoolVar(&everything, "all", false, "list the models of all providers, also those that need a key")
	cmd.Flags().BoolVar(&refresh, "refresh", false, "fetch the current list from models.dev first")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "print all details in OpenCode's format: each name, then JSON")
	cmd.MarkFlagsMutuallyExclusive("all", "verbose")
	cmd.AddCommand(g.modelsShow())
	return g.inv.AddJSONFlag(cmd)
}

// printKnownModels prints the models of a provider, or of all for "", and what each needs to be used.
func (g modelCommands) printKnownModels(ctx context.Context, id string) error {
	// Ask the host, without a server: a model that cannot be used is not in its list.
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	all, err := g.inv.Host.KnownModels(ctx, o)
	if err != nil {
		return err
	}
	// Keep the models of the provider; without any, suggest a similar name.
	ids := providersOf(all)
	all = slices.DeleteFunc(all, func(m client.KnownModel) bool { return id != "" && m.ProviderID != id })
	if len(all) == 0 {
		near := spelling.FindNearest(id, ids, 3)
		return cli.NewExitError(cli.ExitUsage, session.NotFound("provider", id, near...), "cairn models --all lists all")
	}
	// The table has the first thing that each model needs.
	return cli.List[client.KnownModel]{
		Head:  []string{"MODEL", "CONTEXT", "IN $/M", "OUT $/M", "NEEDS"},
		Right: []string{"CONTEXT", "IN $/M", "OUT $/M"},
		Row: func(m client.KnownModel) []string {
			in, out := formatPrices(m.Model)
			needs := "-"
			if len(m.Missing) > 0 {
				needs = terminal.FirstLine(m.Missing[0], 200)
			}
			return []string{terminal.FirstLine(m.Ref().String(), 80), formatTokens(m.Limit.Context), in, out, needs}
		},
	}.Print(g.inv, all)
}

func (g modelCommands) refreshModels(ctx context.Context) error {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	changed, err := g.inv.Host.RefreshModels(ctx, o)
	if err != nil {
		return err
	}
	if !changed {
		g.inv.Err.Printf("The list of models is unchanged.\n")
	}
	return nil
}

// usableModels returns the models of the store's owner or, if the store cannot be opened, those that are usable
// without it.
func (g modelCommands) usableModels(ctx context.Context) (models []api.Model, err error) {
	err = g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		list, err := c.Models(ctx)
		models = list.Data
		return err
	})
	if err == nil || ctx.Err() != nil {
		return models, err
	}
	o, oerr := g.inv.HostOptions("")
	if oerr != nil {
		return nil, oerr
	}
	if models, oerr = g.inv.Host.UsableModels(ctx, o); oerr != nil {
		return nil, err
	}
	g.inv.Note("cairn cannot start here, so the list may be incomplete: " + err.Error())
	return models, nil
}

// ofProvider returns the models of a provider, or all for "". The error says why the provider has no usable models.
func (g modelCommands) ofProvider(ctx context.Context, models []api.Model, id string) ([]api.Model, error) {
	out := []api.Model{}
	for _, m := range models {
		if m.ProviderID == id || id == "" {
			out = append(out, m)
		}
	}
	if len(out) > 0 || id == "" {
		return out, nil
	}
	o, err := g.inv.HostOptions("")
	if err != nil {
		return nil, err
	}
	if why, err := g.inv.Host.WhyUnusable(ctx, o, id); err == nil && why != "" {
		missing := session.NotFound("usable provider", id)
		missing.Message += ": " + why
		return nil, &cli.ExitError{Code: cli.ExitUsage, Err: missing}
	}
	all, err := g.inv.Host.KnownModels(ctx, o)
	if err != nil {
		return nil, err
	}
	return nil, cli.NewExitError(
		cli.ExitUsage,
		session.NotFound("provider", id, spelling.FindNearest(id, providersOf(all), 3)...),
		"cairn models --all lists all providers; cairn models show PROVIDER/MODEL shows one model",
	)
}

func providersOf(all []client.KnownModel) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.ProviderID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func formatPrices(m api.Model) (in, out string) {
	if len(m.Cost) == 0 {
		return "-", "-"
	}
	return m.Cost[0].Input.String(), m.Cost[0].Output.String()
}

func formatTokens(tokens int64) string {
	switch {
	case tokens <= 0:
		return "-"
	case tokens >= 1_000_000:
		return fmt.Sprintf("%.3gM", float64(tokens)/1e6)
	default:
		return fmt.Sprintf("%dk", tokens/1000)
	}
}

func formatAbilities(m api.Model) string {
	var can []string
	if m.Capabilities.Tools {
		can = append(can, "tools")
	}
	for _, in := range m.Capabilities.Input {
		if in != "text" {
			can = append(can, terminal.FirstLine(in, 20))
		}
	}
	if m.Status != "active" {
		can = append(can, "("+terminal.FirstLine(m.Status, 20)+")")
	}
	return strings.Join(can, " ")
}
