package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
)

// storedServer is a server as it is written to a configuration.
type storedServer struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command,omitzero"`
	Cwd         string            `json:"cwd,omitzero"`
	Environment map[string]string `json:"environment,omitzero"`
	URL         string            `json:"url,omitzero"`
	Headers     map[string]string `json:"headers,omitzero"`
	Enabled     *bool             `json:"enabled,omitzero"`
}

// editFlags are those of commands that change a configuration.
type editFlags struct {
	project bool
	replace bool
}

func (f *editFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.project, "project", false, "change the project's cairn.json instead of your own configuration")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace servers of the same names")
}

func (g serverCommands) addCommand() *cobra.Command {
	var edit editFlags
	var environment, headers []string
	cmd := &cobra.Command{
		Use: "add NAME (URL | -- COMMAND ARGUMENT…)", Short: "Add a server to your configuration",
		Args: cobra.MinimumNArgs(2),
		Long: "Add a server: the address of a remote one, or the command that starts a local one. A value such as\n" +
			"{env:NAME} stands for a variable of the environment, so that no key stands in the file.",
		Example: "  cairn mcp add memory -- npx -y @modelcontextprotocol/server-memory\n" +
			"  cairn mcp add github https://api.githubcopilot.com/mcp/ --header 'Authorization=Bearer {env:GITHUB_TOKEN}'",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// A local or a remote server, with the flags of its kind.
			s := storedServer{Type: "local", Command: args[1:]}
			var err error
			if strings.HasPrefix(args[1], "https://") || strings.HasPrefix(args[1], "http://") {
				if len(args) > 2 {
					return cli.UsageErrorf("a remote server has an address and no further arguments")
				}
				s = storedServer{Type: "remote", URL: args[1]}
			}
			if s.Environment, err = parsePairs("env", environment); err != nil {
				return err
			}
			if s.Headers, err = parsePairs("header", headers); err != nil {
				return err
			}
			if s.Type == "local" && s.Headers != nil || s.Type == "remote" && s.Environment != nil {
				return cli.UsageErrorf("--env is for local servers, --header for remote ones")
			}
			return g.store(ctx, map[string]storedServer{args[0]: s}, edit)
		}),
	}
	cmd.Flags().StringArrayVar(&environment, "env", nil, "give the server a variable, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "send a header with each request, `NAME=VALUE`; may be repeated")
	edit.addTo(cmd)
	return g.inv.AddJSONFlag(cmd)
}

// parsePairs returns the pairs of a flag.
func parsePairs(flag string, pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.UsageErrorf("--%s %q is not NAME=VALUE", flag, p)
		}
		out[name] = value
	}
	return out, nil
}

// store writes servers to the configuration, all or none. One that is there already is an error, unless it may be
// replaced.
func (g serverCommands) store(ctx context.Context, servers map[string]storedServer, edit editFlags) error {
	// Check all names before anything is recorded or written.
	c, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(servers))
	for _, name := range names {
		if _, taken := c.MCP[name]; taken && !edit.replace {
			return cli.NewExitError(cli.ExitUsage, fmt.Errorf("there is an MCP server %s already", name),
				"Nothing was changed. --replace replaces it.")
		}
		if err := config.CheckKey(serverKey(name)); err != nil {
			return cli.NewExitError(cli.ExitUsage, err, "Nothing was changed.")
		}
	}
	if err := g.inv.RecordSettings(ctx, "set the MCP servers "+strings.Join(names, ", ")); err != nil {
		return err
	}
	values := map[string]jsontext.Value{}
	for _, name := range names {
		if values[serverKey(name)], err = json.Marshal(servers[name], json.Deterministic(true)); err != nil {
			return err
		}
	}
	file, err := c.ChangeValues(ctx, edit.project, values)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Added %s to %s. To try it: cairn mcp debug %s", strings.Join(names, ", "), file, names[0])
	return g.inv.FinishChange(nil, cli.Change{File: file}, text)
}

// serverKey returns the key of a server in the configuration.
func serverKey(name string) string { return `mcp."` + name + `"` }

func (g serverCommands) removeCommand() *cobra.Command {
	var edit editFlags
	cmd := &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove a server from your configuration", Args: cobra.ExactArgs(1),
		Example: "  cairn mcp remove memory", ValidArgsFunction: g.completeServers,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			if _, ok := c.MCP[args[0]]; !ok {
				err := fmt.Errorf("there is no MCP server %s in the configuration", args[0])
				return cli.NewExitError(cli.ExitUsage, err, "")
			}
			if err := g.inv.RecordSettings(ctx, "unset the MCP server "+args[0]); err != nil {
				return err
			}
			file, err := c.ChangeValue(ctx, edit.project, serverKey(args[0]), []jsontext.Value{nil})
			if err != nil {
				return err
			}
			return g.inv.FinishChange(nil, cli.Change{File: file}, "Removed "+args[0]+" from "+file+".")
		}),
	}
	cmd.Flags().BoolVar(&edit.project, "project", false, "change the project's cairn.json instead of your own configuration")
	return g.inv.AddJSONFlag(cmd)
}
