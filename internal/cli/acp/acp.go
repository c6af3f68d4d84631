// Package acp holds the command that serves an editor over the Agent Client Protocol.
package acp

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairn-dev/cairn/internal/acp"
	"github.com/cairn-dev/cairn/internal/cli"
)

const help = `Serve an editor over its standard input and output, by the Agent Client Protocol (https://agentclientprotocol.com),
versions 1 and 2. The editor starts this command; docs/editors.md has the settings of Zed, JetBrains, Neovim and Emacs.
Sessions are those of cairn: other clients see them, and they are there after a restart. If no cairn process runs, a
background server does the work, so that it goes on when the editor is closed.`

// NewCommand returns "cairn acp".
func NewCommand(inv *cli.Invocation) *cobra.Command {
	var directory string
	cmd := &cobra.Command{
		Use: "acp", Short: "Serve an editor by the Agent Client Protocol", Long: help, Args: cobra.NoArgs,
		Example: "  cairn acp\n  cairn acp --cwd /src/project",
		RunE: inv.Action(func(ctx context.Context, _ []string) error {
			o, err := inv.DirectoryOptions("--cwd", directory)
			if err != nil {
				return err
			}
			o.Detach = true
			h, err := inv.OpenHostClient(ctx, o)
			if err != nil {
				return err
			}
			err = acp.Serve(ctx, inv.Stdin, inv.Stdout, acp.Options{
				Client: h.API, Version: inv.ServerVersion(), Reconnected: h.Reconnected, LoginCommand: []string{"auth", "login"},
			})
			if closeErr := h.Close(context.WithoutCancel(ctx), inv.Note); err == nil {
				err = closeErr
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&directory, "cwd", "", "the `DIRECTORY` of requests that name none")
	if inv.IsOpenCode() {
		addNetworkFlags(cmd.Flags())
	}
	return cmd
}

// addNetworkFlags adds the flags of OpenCode's command for the address of its server. They change nothing: the command
// connects to the owner of the store.
func addNetworkFlags(f *pflag.FlagSet) {
	f.Int("port", 0, "")
	f.String("hostname", "", "")
	f.Bool("mdns", false, "")
	f.String("mdns-domain", "", "")
	f.StringArray("cors", nil, "")
	cli.HideFlags(f, "port", "hostname", "mdns", "mdns-domain", "cors")
}
