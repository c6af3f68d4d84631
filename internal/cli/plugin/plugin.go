// Package plugin holds the commands for OpenCode's plugins: what is configured and installed, and changes of it.
package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Commands are the commands for plugins.
func Commands(inv *cli.Invocation) []*cobra.Command {
	g := pluginCommands{inv}
	return []*cobra.Command{cli.GroupCommand(&cobra.Command{
		Use: "plugin", Short: "Install and list OpenCode's plugins",
		Long: "Plugins are packages of npm, or scripts in the folders plugin and tool beside a configuration. They run\n" +
			"with your rights, outside of the sandbox, in one process for each directory, under Bun, or Node 22.15\n" +
			"or newer. Those of a project wait for trust (cairn trust).",
	}, g.listCommand(), g.addCommand(), g.removeCommand(), g.updateCommand(), g.infoCommand())}
}

type pluginCommands struct{ inv *cli.Invocation }

// listedPlugin is one line of the list.
type listedPlugin struct {
	ID       string `json:"id"`
	Source   string `json:"source"`            // the file of the plugin, or the one that names it
	Version  string `json:"version,omitzero"`  // of a package that is installed
	Problem  string `json:"problem,omitzero"`  // why it does not run
	Project  bool   `json:"project,omitzero"`  // it belongs to the project
	MayAllow bool   `json:"mayAllow,omitzero"` // it may allow what a person would be asked
}

func (g pluginCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the plugins of this directory", Args: cobra.NoArgs,
		Example: "  cairn plugin list\n  cairn plugin list --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			list, err := g.loadAll(ctx, c)
			if err != nil {
				return err
			}
			if !c.Trusted && len(c.Claim.ListUnrun(false)) > 0 {
				g.inv.Note("plugins and tools of this project wait for trust: cairn trust shows them")
			}
			return cli.List[listedPlugin]{
				Head: []string{"PLUGIN", "VERSION", "STATE", "FROM"}, Row: formatPlugin,
				Empty: "No plugins are configured. To add one: cairn plugin add NAME",
			}.Print(g.inv, list)
		}),
	})
}

// loadAll returns the plugins of a configuration with what became of them when they were loaded.
func (g pluginCommands) loadAll(ctx context.Context, c *config.Config) ([]listedPlugin, error) {
	list, err := listPlugins(c)
	if err != nil || len(list) == 0 {
		return list, err
	}
	err = g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		loaded, err := c.Plugins(ctx)
		for _, one := range loaded.Data {
			i := slices.IndexFunc(list, func(l listedPlugin) bool { return l.ID == one.ID })
			switch {
			case i >= 0:
				list[i].Problem = one.State.Error
			case one.State.Error != "":
				g.inv.Note(one.ID + ": " + one.State.Error)
			}
		}
		return err
	})
	return list, err
}

// listPlugins returns the plugins of a configuration; a problem is what can be seen before they are loaded.
func listPlugins(c *config.Config) ([]listedPlugin, error) {
	st := plugin.NewStore(c.Dirs.Data)
	installed, err := st.List()
	if err != nil {
		return nil, err
	}
	plugins := c.ListPlugins()
	_, problems := st.Resolve(plugins)
	out := []listedPlugin{}
	for _, one := range plugins {
		l := listedPlugin{
			ID: one.ID, Source: cmp.Or(one.File, one.Source.String()), Project: one.Project,
			MayAllow: one.MayAllow(c.Extensions.Allow),
		}
		name, _ := config.SplitPackageName(one.Name)
		for _, i := range installed {
			if i.Name == name {
				l.Version = i.Version
			}
		}
		if err := problems[one.ID]; err != nil {
			l.Problem = err.Error()
		}
		out = append(out, l)
	}
	return out, nil
}

func formatPlugin(l listedPlugin) []string {
	state := cmp.Or(l.Problem, "ready")
	if l.MayAllow {
		state += ", may allow"
	}
	return []string{l.ID, cmp.Or(l.Version, "-"), terminal.FirstLine(state, 160), terminal.FirstLine(l.Source, 120)}
}

const scriptsUsage = "run the install scripts of the package and of what it needs"

func (g pluginCommands) addCommand() *cobra.Command {
	var scripts bool
	cmd := &cobra.Command{
		Use: "add NAME[@VERSION]", Short: "Install a plugin from npm and add it to your configuration",
		Args: cobra.ExactArgs(1),
		Long: "Install a package with npm, or Bun, into cairn's data, without its install scripts, and add it to your\n" +
			"configuration. Its version and the hash of its files are kept: a package that changes does not run.",
		Example: "  cairn plugin add @tarquinen/opencode-dcp\n  cairn plugin add opencode-wakatime@1.3.9",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			one, err := g.install(ctx, c, args[0], scripts)
			if err != nil {
				return err
			}
			// Name it in the configuration, in place of another version.
			file := c.TargetFile(false)
			items := replaceItem(c.ListFilePlugins(file), one.Name, args[0])
			value, err := json.Marshal(items)
			if err != nil {
				return err
			}
			if file, err = c.ChangeValue(ctx, false, "plugin", []jsontext.Value{value}); err != nil {
				return err
			}
			return g.inv.FinishChange(nil, cli.Change{File: file},
				"Installed "+one.Name+" "+one.Version+" and added it to "+file+". It runs from the next prompt on.")
		}),
	}
	cmd.Flags().BoolVar(&scripts, "scripts", false, scriptsUsage)
	return g.inv.AddJSONFlag(cmd)
}

// install records and does the installation of a package.
func (g pluginCommands) install(ctx context.Context, c *config.Config, asked string, scripts bool) (plugin.Installed, error) {
	if !config.IsPackageName(asked) {
		return plugin.Installed{}, cli.UsageErrorf("%.100q is not the name of an npm package: use NAME, @SCOPE/NAME, or one of "+
			"them with @VERSION; the path of a script stands under the key plugin of the configuration", asked)
	}
	if err := g.inv.RecordSettings(ctx, "install the plugin "+asked); err != nil {
		return plugin.Installed{}, err
	}
	if !g.inv.JSON {
		g.inv.Err.Printf("Installing %s…\n", asked)
	}
	return plugin.NewStore(c.Dirs.Data).Install(ctx, asked, scripts)
}

// replaceItem returns the items with the package as it was asked for: in the place of another version, whose options
// stay, or at the end.
func replaceItem(items []jsontext.Value, name, asked string) []jsontext.Value {
	text, _ := json.Marshal(asked) // a package name
	for i, item := range items {
		if !config.NamesPackage(item, name) {
			continue
		}
		var words []jsontext.Value
		if item.Kind() == '[' && json.Unmarshal(item, &words) == nil {
			words[0] = text
			text, _ = json.Marshal(words) // JSON values
		}
		return append(append(slices.Clone(items[:i]), text), items[i+1:]...)
	}
	return append(slices.Clone(items), text)
}

func (g pluginCommands) removeCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a plugin from your configuration and from cairn's data",
		Args: cobra.ExactArgs(1), Example: "  cairn plugin remove opencode-wakatime", ValidArgsFunction: g.completePackages,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			name, _ := config.SplitPackageName(args[0])
			file := c.TargetFile(false)
			items := c.ListFilePlugins(file)
			kept := slices.DeleteFunc(slices.Clone(items), func(item jsontext.Value) bool {
				return config.NamesPackage(item, name)
			})
			st := plugin.NewStore(c.Dirs.Data)
			installed, err := st.List()
			if err != nil {
				return err
			}
			isInstalled := slices.ContainsFunc(installed, func(one plugin.Installed) bool { return one.Name == name })
			if !isInstalled && len(kept) == len(items) {
				return cli.NewExitError(cli.ExitUsage, session.NotFound("plugin", name), "cairn plugin list shows the plugins")
			}
			// Remove it from the configuration first: what is named and missing is a problem.
			if err := g.inv.RecordSettings(ctx, "remove the plugin "+name); err != nil {
				return err
			}
			if len(kept) < len(items) {
				value, err := json.Marshal(kept)
				if err != nil {
					return err
				}
				if _, err := c.ChangeValue(ctx, false, "plugin", []jsontext.Value{value}); err != nil {
					return err
				}
			}
			_, err = st.Remove(ctx, name)
			text := "Removed " + name + "."
			for _, one := range c.ListPlugins() {
				if own, _ := config.SplitPackageName(one.Name); own == name && one.Source.File != file {
					text += " " + one.Source.String() + " still names it: remove it there too."
				}
			}
			return g.inv.FinishChange(err, cli.Change{File: file}, text)
		}),
	})
}

func (g pluginCommands) updateCommand() *cobra.Command {
	var scripts bool
	cmd := &cobra.Command{
		Use: "update [NAME…]", Short: "Install plugins again: the named ones, or all that the configuration names",
		Long: "Install the packages that the configuration of this directory names, in the versions that it names; those\n" +
			"without a version in the newest one. What is installed so is trusted as it is then. Install scripts run\n" +
			"where they ran before, unless --scripts says otherwise.",
		Example: "  cairn plugin update\n  cairn plugin update @tarquinen/opencode-dcp", ValidArgsFunction: g.completePackages,
	}
	cmd.RunE = g.inv.Action(func(ctx context.Context, args []string) error {
		c, err := g.inv.LoadConfig(ctx)
		if err != nil {
			return err
		}
		packages, err := selectPackages(c.ListPlugins(), args)
		if err != nil {
			return err
		}
		earlier, err := plugin.NewStore(c.Dirs.Data).List()
		if err != nil {
			return err
		}
		if err := plugin.NewStore(c.Dirs.Data).InstallKit(ctx); err != nil {
			return err
		}
		if len(packages) == 0 && !g.inv.JSON {
			g.inv.Note("No packages are configured. What scripts import (" + plugin.Kit + ") is installed")
		}
		// Install each of them, also if another one fails.
		var failures []error
		done := []plugin.Installed{}
		for _, one := range packages {
			runsScripts := scripts
			if !cmd.Flags().Changed("scripts") {
				runsScripts = hadScripts(earlier, one)
			}
			installed, err := g.install(ctx, c, one, runsScripts)
			if err != nil {
				failures = append(failures, err)
				continue
			}
			done = append(done, installed)
			if !g.inv.JSON {
				g.inv.Out.Printf("%s %s\n", installed.Name, installed.Version)
			}
		}
		if g.inv.JSON {
			g.inv.PrintJSONLine(done)
		}
		return errors.Join(failures...)
	})
	cmd.Flags().BoolVar(&scripts, "scripts", false, scriptsUsage)
	return g.inv.AddJSONFlag(cmd)
}

// selectPackages returns the packages among the plugins, as the configuration names them: those with the names, or all
// without one. A name that the configuration does not have is an error.
func selectPackages(plugins []config.Plugin, names []string) (packages []string, err error) {
	var known []string
	for _, one := range plugins {
		if name, _ := config.SplitPackageName(one.Name); name != "" {
			known = append(known, name)
			if len(names) == 0 || slices.Contains(names, name) {
				packages = append(packages, one.Name)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, cli.NewExitError(cli.ExitUsage,
				session.NotFound("plugin", name, spelling.FindNearest(name, known, 3)...), "To add one: cairn plugin add NAME")
		}
	}
	return packages, nil
}

// hadScripts reports whether the package, named with or without a version, was installed with its install scripts.
func hadScripts(installed []plugin.Installed, asked string) bool {
	name, _ := config.SplitPackageName(asked)
	return slices.ContainsFunc(installed, func(one plugin.Installed) bool { return one.Name == name && one.Scripts })
}

// pluginInfo is what one plugin is and offers.
type pluginInfo struct {
	listedPlugin
	Runtime string       `json:"runtime"`
	Offer   plugin.Offer `json:"offer"`
}

func (g pluginCommands) infoCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "info NAME", Short: "Load a plugin and show what it offers", Args: cobra.ExactArgs(1),
		Long:    "Load a plugin alone, in a process of its own, and show its hooks and tools. It has no connection to cairn then.",
		Example: "  cairn plugin info opencode-wakatime", ValidArgsFunction: g.completePackages,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			list, err := listPlugins(c)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(list, func(l listedPlugin) bool {
				return l.ID == args[0] || strings.TrimPrefix(l.ID, "plugin/") == args[0]
			})
			if i < 0 {
				return cli.NewExitError(cli.ExitUsage, session.NotFound("plugin", args[0]), "cairn plugin list shows the plugins")
			}
			if list[i].Problem != "" {
				return errors.New(list[i].Problem)
			}
			info, err := load(ctx, c, list[i])
			if err != nil {
				return err
			}
			return cli.PrintResult(g.inv, info, g.printInfo)
		}),
	})
}

// load loads one plugin and returns what it offers.
func load(ctx context.Context, c *config.Config, l listedPlugin) (pluginInfo, error) {
	st := plugin.NewStore(c.Dirs.Data)
	specs, _ := st.Resolve(c.ListPlugins())
	specs = slices.DeleteFunc(specs, func(s plugin.Spec) bool { return s.ID != l.ID })
	changed := fmt.Errorf("the plugin %s has changed since it was listed; run the command again", l.ID)
	if len(specs) == 0 {
		return pluginInfo{}, changed
	}
	pool := plugin.NewPool(plugin.Options{
		Supervisor: st.Supervisor, Scripts: st.Dir, Shared: st.Shared(),
	})
	defer pool.Close()
	directory := c.Claim.Root
	state, _ := pool.Open(plugin.Location{
		Directory: directory, Worktree: directory, Project: jsontext.Value(`{"id":"global","worktree":"/","time":{"created":0}}`),
		Config: jsontext.Value("{}"), Plugins: specs,
	}).Await(ctx)
	if state.Error != "" {
		return pluginInfo{}, errors.New(state.Error)
	}
	if len(state.Plugins) == 0 {
		return pluginInfo{}, changed
	}
	return pluginInfo{l, state.Runtime, state.Plugins[0]}, nil
}

// printInfo prints a plugin for people.
func (g pluginCommands) printInfo(i pluginInfo) {
	out := g.inv.Out
	out.Printf("%s %s\n", out.PaintText(terminal.Bold, i.ID), i.Version)
	out.Printf("  from: %s\n  runs with: %s\n", terminal.FirstLine(i.Source, 200), i.Runtime)
	if i.Offer.Error != "" {
		out.Printf("  not all of it works: %s\n", terminal.FirstLine(i.Offer.Error, 400))
	}
	for _, name := range i.Offer.Hooks {
		served := "not served"
		if plugin.IsServed(name) {
			served = "served"
		}
		out.Printf("  hook %s: %s\n", terminal.FirstLine(name, 100), served)
	}
	for _, a := range i.Offer.Auths {
		for _, m := range a.Methods {
			out.Printf("  login at %s: %s\n", terminal.FirstLine(a.Provider, 60), terminal.FirstLine(m.Label, 100))
		}
	}
	for _, id := range i.Offer.Models {
		out.Printf("  models of %s\n", terminal.FirstLine(id, 60))
	}
	for _, t := range i.Offer.Tools {
		out.Printf("  tool %s: %s\n", t.Name, terminal.FirstLine(t.Description, 120))
	}
}

// completePackages completes the names of installed packages.
func (g pluginCommands) completePackages(
	cmd *cobra.Command, _ []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	c, err := g.inv.LoadConfig(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	installed, _ := plugin.NewStore(c.Dirs.Data).List() // unreadable: nothing is completed
	var names []string
	for _, one := range installed {
		names = append(names, one.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
