package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// modelsShow returns the command that shows a model. It works for models that cannot be used, and even if cairn cannot
// start here, since the catalog is built in.
func (g modelCommands) modelsShow() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "show PROVIDER/MODEL[#VARIANT]", Short: "Show the details of a model", Args: cobra.ExactArgs(1),
		Long: "Print the details of a model. If the model cannot be used here, print what is missing. With a variant,\n" +
			"print the options that the variant sends.",
		Example: "  cairn models show openai/gpt-5\n  cairn models show openai/gpt-5#high\n" +
			"  cairn models show openai/gpt-5 --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Ask for the usable models, then find the model among all known ones.
			tell := g.inv.CheckKeys(ctx)
			var usable []api.Model
			err := g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				list, err := c.Models(ctx)
				usable = list.Data
				return err
			})
			// An unknown model is the error; a failed start is one only then.
			m, kerr := g.knownVariant(ctx, usable, args[0])
			switch {
			case kerr != nil:
				return cmp.Or(err, kerr)
			case err != nil:
				g.inv.Note("cairn cannot start here, so the list may be incomplete: " + err.Error())
			}
			defer tell(m.ProviderID)
			// Print the model, the options of its variant, and what is dropped or missing.
			if g.inv.JSON {
				return g.inv.PrintJSON(m)
			}
			g.showModel(m.Model)
			if m.Variant != nil {
				g.inv.Out.Printf("  %-10s %s\n", "variant", terminal.FirstLine(m.Variant.ID+" "+asText(m.Variant.Body), 300))
			}
			for _, why := range m.Dropped {
				g.inv.Note("an option is not sent: " + why)
			}
			for _, why := range m.Missing {
				g.inv.Note("it cannot be used here: " + why)
			}
			return nil
		}),
	})
}

// asText is a value as JSON on one line.
func asText(v any) string {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(raw)
}

// knownVariant is knownModel for a name that may end in a variant; a model may be called so itself.
func (g modelCommands) knownVariant(ctx context.Context, usable []api.Model, name string) (*client.KnownModel, error) {
	m, err := g.knownModel(ctx, usable, name)
	base, variant := cli.CutVariant(name, "#@")
	if err == nil || variant == "" {
		return m, err
	}
	if m, err = g.knownModel(ctx, usable, base); err != nil {
		return nil, err
	}
	for _, v := range m.Variants {
		if v.ID == variant {
			m.Variant = &v
			return m, nil
		}
	}
	missing := session.NotFound("variant", variant, variantIDs(m.Model)...)
	if len(m.Variants) == 0 {
		missing.Message += ": " + m.Ref().String() + " has no variants"
	}
	return nil, &cli.ExitError{Code: cli.ExitUsage, Err: missing}
}

// knownModel returns the usable model of that name, or else what is known of one that is not.
func (g modelCommands) knownModel(ctx context.Context, usable []api.Model, name string) (*client.KnownModel, error) {
	// Find the name among the usable models; the catalog needs the full name.
	m, err := findModel(usable, name)
	full := name
	if err == nil {
		full = m.Ref().String()
	}
	o, oerr := g.inv.HostOptions("")
	if oerr != nil {
		return nil, oerr
	}
	known, kerr := g.inv.Host.KnownModel(ctx, o, full)
	// The server's model wins over the catalog's, which adds details to it.
	switch {
	case err == nil && kerr == nil:
		known.Model, known.Missing = m, nil // the owner that answers requests knows more than this process
		return known, nil
	case err == nil:
		return &client.KnownModel{Model: m}, nil
	case kerr == nil:
		return known, nil
	default:
		own, _ := errors.AsType[*session.Error](err)
		if e, ok := errors.AsType[*session.Error](kerr); ok && own != nil && len(e.Nearest) == 0 {
			e.Nearest = own.Nearest // the offline models are in no list
		}
		hint := "a model is usable once its provider has a key"
		if !strings.Contains(kerr.Error(), "cairn models") {
			hint = "cairn models lists the usable models; " + hint
		}
		return nil, cli.NewExitError(cli.ExitUsage, kerr, hint)
	}
}

// findModel returns the model of that name, or of that id if only one has it.
func findModel(models []api.Model, name string) (api.Model, error) {
	var names []string
	var same []api.Model
	for _, m := range models {
		if m.Ref().String() == name {
			return m, nil
		}
		if m.ID == name {
			same = append(same, m)
		}
		names = append(names, m.Ref().String())
	}
	if len(same) == 1 {
		return same[0], nil
	}
	return api.Model{}, cli.NewExitError(
		cli.ExitUsage,
		session.NotFound("usable model", name, spelling.FindNearest(name, names, 3)...),
		"cairn models lists the usable models; a model is usable once its provider has a key",
	)
}

// showModel prints the facts of a model, one in a row, without those that are not known.
func (g modelCommands) showModel(m api.Model) {
	// The name that commands accept, and the title.
	g.inv.Out.Printf(
		"%s  %s\n",
		g.inv.Out.PaintText(terminal.Bold, terminal.FirstLine(m.Ref().String(), 100)),
		terminal.FirstLine(m.Name, 100),
	)
	row := func(name, format string, args ...any) {
		g.inv.Out.Printf("  %-10s %s\n", name, terminal.FirstLine(fmt.Sprintf(format, args...), 300))
	}
	// What is unusual about it.
	if m.Status != "active" {
		row("status", "%s", m.Status)
	}
	if m.Time.Released > 0 {
		row("released", "%s", time.UnixMilli(m.Time.Released).UTC().Format(time.DateOnly))
	}
	if m.API.Package != "" {
		row("package", "%s", m.API.Package)
	}
	if m.API.ID != m.ID && m.API.ID != "" {
		row("called", "%s", m.API.ID)
	}
	// What it can do, what it costs, and its variants.
	row("context", "%s in, %s out", formatTokens(m.Limit.Context), formatTokens(m.Limit.Output))
	row("reads", "%s", strings.Join(m.Capabilities.Input, ", "))
	if m.Capabilities.Tools {
		row("tools", "yes")
	} else {
		row("tools", "no")
	}
	for _, c := range m.Cost {
		row(
			priceLabel(c),
			"$%s in, $%s out, $%s read from the cache, $%s written to it, per million tokens",
			c.Input,
			c.Output,
			c.Cache.Read,
			c.Cache.Write,
		)
	}
	if ids := variantIDs(m); len(ids) > 0 {
		row("variants", "%s", strings.Join(ids, ", "))
	}
}

// priceLabel says from which size of a request on a price holds.
func priceLabel(c api.ModelCost) string {
	if c.Tier == nil {
		return "costs"
	}
	return "over " + formatTokens(c.Tier.Size)
}

func variantIDs(m api.Model) []string {
	var ids []string
	for _, v := range m.Variants {
		ids = append(ids, v.ID)
	}
	return ids
}
