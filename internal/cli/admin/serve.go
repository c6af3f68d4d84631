package admin

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveCommand is `cairn serve`.
type serveCommand struct{ inv *cli.Invocation }

// serveCommand returns the command that serves the HTTP API until a signal. Flags that are not given leave the values
// of the configuration.
func (g serveCommand) serveCommand() *cobra.Command {
	var o client.ServeOptions
	var dir, word string
	var sandbox session.SandboxMode
	var port int
	var mdns bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API until Ctrl-C", Args: cobra.NoArgs,
		Long: "Serve the HTTP API on a Unix socket and on the loopback address. This process owns the store, and other\n" +
			"cairn commands on this machine become its clients. An address that other machines can reach requires\n" +
			"CAIRN_SERVER_PASSWORD. The key server of your configuration sets the defaults of the flags.",
		Example: "  cairn serve\n  cairn serve --port 4096\n" +
			"  CAIRN_SERVER_PASSWORD=… cairn serve --hostname 0.0.0.0 --port 4096",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) (err error) {
			if port < 0 || port > 65535 {
				return cli.UsageErrorf("--port must be from 0 to 65535, got %d", port)
			}
			// Only flags that were given override the configuration.
			if cmd.Flags().Changed("port") {
				o.Port = &port
			}
			if cmd.Flags().Changed("mdns") {
				o.MDNS = &mdns
			}
			if o.Options, err = g.inv.HostOptions(dir); err != nil {
				return err
			}
			if o.Trust = word; word != "" {
				if _, err := g.inv.CheckConfig(ctx, o.Options); err != nil {
					return err
				}
			}
			o.Sandbox = sandbox
			o.Arguments = backgroundArguments(cmd.Flags())
			// Keys are checked while the server starts, because a keyring may be slow.
			tell := g.inv.CheckKeys(ctx)
			err = g.inv.Host.Serve(ctx, o, func(l client.Listening) {
				g.printListening(l)
				if o.Background && !g.inv.JSON {
					g.inv.Err.Printf("process %d ends when it is idle; stop it with: kill %d; its log: %s\n", l.PID, l.PID, l.Log)
				}
				tell("")
			})
			if errors.Is(err, cli.ErrSignal) || errors.Is(err, context.Canceled) {
				return nil // this is how serving ends
			}
			return err
		}),
	}
	cmd.Flags().
		StringVar(&o.Hostname, "hostname", "", "listen on this `ADDRESS` (default 127.0.0.1, or 0.0.0.0 with --mdns)")
	cmd.Flags().IntVar(&port, "port", 0, "listen on this `PORT`; 0 means 4096, or a free port if 4096 is in use")
	cmd.Flags().BoolVar(&mdns, "mdns", false, "announce the server in the local network by mDNS")
	cmd.Flags().
		StringVar(&o.MDNSDomain, "mdns-domain", "", "announce the server under this `NAME` (default opencode.local)")
	cli.AddTrustFlag(cmd, &word)
	cmd.Flags().BoolVar(&o.Background, "background", false,
		"serve in a process of its own, which outlives the terminal and ends when it is idle")
	cmd.Flags().BoolVar(&o.UntilIdle, "until-idle", false, "end when no client is connected and no session works")
	cmd.Flags().BoolVar(&o.SocketOnly, "socket-only", false, "listen on the Unix socket only, and resume no work")
	cli.HideFlags(cmd.Flags(), "socket-only")
	cmd.Flags().BoolVar(&o.OpenLocal, "open-local", false,
		"accept requests of every user of this machine, also of processes that cannot be identified, "+
			"without credentials, with the scope prompt")
	cmd.Flags().
		StringSliceVar(&o.Origins, "cors", nil, "accept requests of web pages from this `ORIGIN`; can be repeated")
	cli.AddSandboxFlag(cmd, &sandbox, "confine the commands of sessions that begin here")
	cmd.Flags().StringVar(&dir, "dir", "", "use this `DIRECTORY` for requests that name no directory")
	return g.inv.AddJSONFlag(cmd)
}

// backgroundArguments are the flags that a background server gets from this command line.
func backgroundArguments(fs *pflag.FlagSet) (args []string) {
	fs.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "background", "json", "until-idle", "sandbox", "dir":
		default:
			if s, ok := f.Value.(pflag.SliceValue); ok {
				for _, v := range s.GetSlice() {
					args = append(args, "--"+f.Name+"="+v)
				}
				return
			}
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// printListening prints the address of the server. Programs wait for this line, so it begins as OpenCode's does.
func (g serveCommand) printListening(l client.Listening) {
	if g.inv.JSON {
		g.inv.PrintJSONLine(l)
		return
	}
	if l.URL != "" {
		g.inv.Out.Printf("opencode server listening on %s\n", l.URL)
	}
	if l.Socket != "" {
		g.inv.Err.Printf("and on the socket %s\n", l.Socket)
	}
	if l.MDNS != "" {
		g.inv.Err.Printf("and in the local network as %s\n", l.MDNS)
	}
	if l.Note != "" {
		g.inv.Err.Printf("%s\n", l.Note)
	}
}
