package mcp

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
)

func (g serverCommands) authCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "auth NAME", Aliases: []string{"login"}, Short: "Log in at a remote server with OAuth",
		Args: cobra.ExactArgs(1),
		Long: "Log in at a remote server. cairn prints the address of its login page. On a machine without a browser,\n" +
			"open it elsewhere and paste the address to which the page led at the end.",
		Example: "  cairn mcp auth linear", ValidArgsFunction: g.completeServers,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Find the server, and record the change.
			logins, c, err := g.openLogin(ctx, args[0])
			if err != nil {
				return err
			}
			if err := g.inv.RecordSettings(ctx, "log in at the MCP server "+args[0]); err != nil {
				return err
			}
			// Show the login page and wait for its end, or for the address where it ended.
			show := func(f mcpauth.Flow) {
				g.inv.Err.Printf("Open this page to log in at %s:\n\n%s\n\n"+
					"cairn goes on when you have. Without a browser here, paste the address where it ended:\n",
					args[0], f.URL)
			}
			if err := logins.Authenticate(ctx, args[0], c, show, g.readLines(ctx)); err != nil {
				return err
			}
			// Servers that run take the login when they are connected again.
			if err := g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
				return c.ConnectMCP(ctx, args[0], true)
			}); err != nil {
				g.inv.Note("the server is not connected yet: " + err.Error())
			}
			return g.inv.FinishChange(nil, cli.Change{}, "Logged in at "+args[0]+".")
		}),
	})
}

func (g serverCommands) logoutCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "logout NAME", Short: "Delete the login at a remote server, also there if it offers that",
		Args:    cobra.ExactArgs(1),
		Example: "  cairn mcp logout linear", ValidArgsFunction: g.completeServers,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Find the server, and record the change.
			logins, c, err := g.openLogin(ctx, args[0])
			if err != nil {
				return err
			}
			if err := g.inv.RecordSettings(ctx, "log out at the MCP server "+args[0]); err != nil {
				return err
			}
			// Delete the login here, and at the server if it can.
			had, problem, err := logins.Logout(ctx, args[0], c)
			switch {
			case err != nil:
				return err
			case !had:
				return cli.NewExitError(cli.ExitUsage, fmt.Errorf("there is no login at %s", args[0]), "")
			case problem != nil:
				g.inv.Note("the login is deleted here, but the server did not confirm it: " + problem.Error())
			}
			return g.inv.FinishChange(nil, cli.Change{}, "Logged out at "+args[0]+".")
		}),
	})
}

// openLogin returns the logins of the user and the configuration of a remote server.
func (g serverCommands) openLogin(ctx context.Context, name string) (*mcpauth.Logins, config.MCP, error) {
	c, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return nil, config.MCP{}, err
	}
	server, ok := c.MCP[name]
	switch {
	case !ok:
		err := fmt.Errorf("there is no MCP server %s in the configuration", name)
		return nil, server, cli.NewExitError(cli.ExitUsage, err, "")
	case server.Type != "remote":
		err := fmt.Errorf("%s is a local server, which has no login", name)
		return nil, server, cli.NewExitError(cli.ExitUsage, err,
			"What it needs is given by its environment.")
	case string(server.OAuth) == "false":
		return nil, server, cli.NewExitError(cli.ExitUsage, fmt.Errorf("the configuration of %s forbids a login", name),
			"Remove oauth: false.")
	}
	dirs, err := config.FindDirectories(g.inv.Env)
	if err != nil {
		return nil, server, err
	}
	return mcpauth.New(dirs.Data, g.inv.Env), server, nil
}

// readLines returns the lines of the standard input. The channel is closed at its end, or with the line after ctx ends.
func (g serverCommands) readLines(ctx context.Context) <-chan string {
	lines := make(chan string)
	go func() { // a read that waits for a terminal ends with the process
		defer close(lines)
		s := bufio.NewScanner(g.inv.Stdin)
		for s.Scan() {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
