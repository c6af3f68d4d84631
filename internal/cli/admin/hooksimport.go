package admin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/hook"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// hookImport is the request for an import of hooks.
type hookImport struct{ project, yes bool }

func (g hookCommands) importCommand() *cobra.Command {
	var r hookImport
	cmd := &cobra.Command{
		Use: "import", Short: "Import the hooks of Claude Code's settings", Args: cobra.NoArgs,
		Long: "Show the hooks of ~/.claude/settings.json and, after your confirmation, add them to your configuration; with\n" +
			"--project those of the project's .claude/settings.json to its cairn.json, where they need trust. cairn\n" +
			"never runs the hooks of Claude Code's settings themselves.",
		Example: "  cairn hooks import\n  cairn hooks import --project --yes",
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, _ []string) error {
			return g.importHooks(ctx, o, r)
		}),
	}
	cmd.Flags().BoolVar(&r.project, "project", false, "import the project's hooks into the project's cairn.json")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "import without asking for confirmation")
	return g.inv.AddJSONFlag(cmd)
}

// importHooks shows the hooks of Claude Code's settings and adds those to the configuration that it lacks.
func (g hookCommands) importHooks(ctx context.Context, o client.Options, r hookImport) error {
	c, err := g.inv.Host.Config(ctx, o)
	if err != nil {
		return err
	}
	dir := c.Dirs.Home
	if r.project {
		dir = c.Claim.Root
	}
	found, err := hook.ReadClaude(filepath.Join(dir, ".claude", "settings.json"))
	if err != nil {
		return err
	}
	if found == nil || found.Count() == 0 && len(found.Problems) == 0 {
		return cli.NewExitError(cli.ExitUsage, fmt.Errorf("%s has no hooks", filepath.Join(dir, ".claude", "settings.json")),
			"Nothing was changed.")
	}
	// Show them, and what stays out.
	values, count, err := mergeGroups(c.ListFileHooks(c.TargetFile(r.project)), found)
	if err != nil {
		return err
	}
	if !g.inv.JSON {
		for _, event := range config.HookEvents {
			for _, group := range found.Groups[event] {
				for _, line := range describeGroup(event, group) {
					g.inv.Out.Printf("%s\n", line)
				}
			}
		}
	}
	for _, p := range found.Problems {
		g.inv.Note("is left out: " + terminal.FirstLine(p, 300))
	}
	if count == 0 {
		g.inv.ReportChange(cli.Change{File: c.TargetFile(r.project), Count: &count}, "The configuration has these hooks already.")
		return nil
	}
	// Add them after the person has agreed.
	if !r.yes {
		if err := g.inv.Confirm(ctx, cli.Confirmation{
			What: fmt.Sprintf("add %s to %s", terminal.FormatPlural(count, "hook"), c.TargetFile(r.project)), Hint: "Repeat with --yes.",
		}); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("imported %s into %s", terminal.FormatPlural(count, "hook"), c.TargetFile(r.project))
	if err := g.inv.RecordSettings(ctx, what); err != nil {
		return err
	}
	file, err := c.ChangeValues(ctx, r.project, values)
	text := fmt.Sprintf("Added %s to %s.", terminal.FormatPlural(count, "hook"), file)
	if r.project {
		text += " They run once you trust them: cairn trust"
	}
	return g.inv.FinishChange(err, cli.Change{File: file, Count: &count}, text)
}

// mergeGroups returns the values of the keys hooks.EVENT with the groups that are imported after those that the file has,
// and the number of commands that it lacks.
func mergeGroups(
	have map[string][]jsontext.Value, found *hook.Imported,
) (values map[string]jsontext.Value, count int, err error) {
	values = map[string]jsontext.Value{}
	for event, groups := range found.Groups {
		all := slices.Clone(have[event])
		for _, group := range groups {
			if containsGroup(all, group) {
				continue
			}
			raw, err := json.Marshal(group, json.Deterministic(true))
			if err != nil {
				return nil, 0, err
			}
			all = append(all, raw)
			count += len(group.Hooks)
		}
		if len(all) > len(have[event]) {
			if values["hooks."+event], err = json.Marshal(all, jsontext.Multiline(true), jsontext.WithIndent("  ")); err != nil {
				return nil, 0, err
			}
		}
	}
	return values, count, nil
}

// containsGroup reports whether one of the groups has the same matcher and commands.
func containsGroup(all []jsontext.Value, group config.HookGroup) bool {
	return slices.ContainsFunc(all, func(raw jsontext.Value) bool {
		var g config.HookGroup
		return json.Unmarshal(raw, &g) == nil && g.Matcher == group.Matcher &&
			slices.EqualFunc(g.Hooks, group.Hooks, func(a, b config.HookCommand) bool { return a.Command == b.Command })
	})
}
