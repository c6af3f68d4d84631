// Package mcp holds the commands for the MCP servers of a directory: what they offer, and their configuration.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Commands are the commands for MCP servers.
func Commands(inv *cli.Invocation) []*cobra.Command {
	g := serverCommands{inv}
	return []*cobra.Command{cli.GroupCommand(&cobra.Command{
		Use: "mcp", Short: "Show and configure MCP servers",
		Long: "MCP servers give the model tools, resources and prompts. They stand under the key mcp of the\n" +
			"configuration and start beside the first prompt. Their tools are called SERVER_TOOL, and ask like\n" +
			"commands do; the servers of a project's files wait for trust.",
	}, g.listCommand(), g.addCommand(), g.removeCommand(), g.importCommand(),
		g.authCommand(), g.logoutCommand(), g.debugCommand(), g.callCommand(), g.serveCommand())}
}

type serverCommands struct{ inv *cli.Invocation }

func (g serverCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the servers and their states", Args: cobra.NoArgs,
		Example: "  cairn mcp list",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			all, err := c.MCPServers(ctx)
			if err != nil {
				return err
			}
			return cli.List[api.MCPServer]{
				Head: []string{"SERVER", "STATE", "TOOLS", "FROM"}, Row: formatServer,
				Empty: "No MCP servers are configured. " +
					"To add one: cairn mcp add NAME -- COMMAND, or cairn mcp add NAME URL",
			}.Print(g.inv, all.Data)
		}),
	})
}

func formatServer(s api.MCPServer) []string {
	const most = 60 // characters; debug NAME shows the whole state
	state := terminal.FirstLine(describe.MCPState(s), most)
	name, source := terminal.FirstLine(s.Name, most), terminal.FirstLine(s.Source, 80)
	return []string{name, state, strconv.Itoa(len(s.Tools)), source}
}

func (g serverCommands) debugCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "debug NAME", Short: "Connect a server anew and show what it offers, or why it cannot be used",
		Args: cobra.ExactArgs(1), Example: "  cairn mcp debug github", ValidArgsFunction: g.completeServers,
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			// Connect it anew, and show its state then.
			if err := c.ConnectMCP(ctx, args[0], true); err != nil {
				return explainMissing(err)
			}
			all, err := c.MCPServers(ctx)
			if err != nil {
				return err
			}
			for _, s := range all.Data {
				if s.Name == args[0] {
					return g.showServer(s)
				}
			}
			return fmt.Errorf("there is no MCP server %s here", args[0])
		}),
	})
}

// explainMissing adds to an error of a request for a server what to do if there is no such server, or if it waits for
// trust, which its text says already.
func explainMissing(err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Reason == mcp.ReasonUntrusted {
		return cli.NewExitError(cli.ExitUsage, err, "")
	}
	return cli.AddNotFoundHint(err, "To see the servers: cairn mcp list")
}

// showServer prints a server with its tools. One that is not connected is an error.
func (g serverCommands) showServer(s api.MCPServer) error {
	err := cli.PrintResult(g.inv, s, func(s api.MCPServer) {
		for _, l := range describe.FormatMCPServer(s) {
			g.inv.Out.Printf("%s\n", l)
		}
	})
	if err == nil && s.Status.Status != "connected" {
		err = cli.NewExitError(cli.ExitFailure, fmt.Errorf("the MCP server %s is not connected", s.Name), "")
	}
	return err
}

func (g serverCommands) callCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "call NAME TOOL [ARGUMENTS]", Short: "Call a tool of a server yourself", Args: cobra.RangeArgs(2, 3),
		Long: "Call a tool of a server. TOOL is the server's own name of it, ARGUMENTS a JSON object.",
		Example: "  cairn mcp call memory read_graph\n" +
			"  cairn mcp call everything echo '{\"message\": \"hello\"}'",
		ValidArgsFunction: g.completeServers,
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			// Check the arguments, which must be an object.
			call := api.MCPCall{Tool: args[1], Input: jsontext.Value(`{}`)}
			if len(args) == 3 {
				call.Input = jsontext.Value(args[2])
				if !call.Input.IsValid() || call.Input.Kind() != '{' {
					return cli.UsageErrorf("ARGUMENTS is not a JSON object, such as '{\"path\": \"a.txt\"}'")
				}
			}
			// Call the tool.
			result, err := c.CallMCP(ctx, args[0], call)
			if err != nil {
				return explainMissing(err)
			}
			// Print the result; a failure that the tool reports is one of the command.
			err = cli.PrintResult(g.inv, result, func(r api.MCPResult) {
				g.inv.Out.Printf("%s\n", terminal.ReplaceControls(r.Text))
				if r.Files > 0 {
					g.inv.Err.Printf("%d images or documents are not shown\n", r.Files)
				}
			})
			if err == nil && result.IsError {
				err = cli.NewExitError(cli.ExitFailure, fmt.Errorf("the tool %s reports a failure", args[1]), "")
			}
			return err
		}),
	})
}

// completeServers completes the names of the configured servers.
func (g serverCommands) completeServers(
	cmd *cobra.Command, args []string, _ string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := g.inv.LoadConfig(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for name := range c.MCP {
		if checkName(name) == nil { // a file may have others, which a shell should not get
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
