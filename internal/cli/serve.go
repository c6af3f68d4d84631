package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var o ServeOptions
	var asJSON bool
	var dir, word string
	var sandboxed bool
	var port int
	var mdns bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API until Ctrl-C", Args: cobra.NoArgs,
		Long: "Serve owns the store and answers on a Unix socket and on the loopback address. Other cairn commands find it\n" +
			"by themselves and become its clients. A port that others can reach needs CAIRN_SERVER_PASSWORD. What no flag says is\n" +
			"as server says in the user's configuration.",
		Example: "  cairn serve\n  cairn serve --port 4096\n  CAIRN_SERVER_PASSWORD=… cairn serve --hostname 0.0.0.0 --port 4096",
		RunE: a.does(func(ctx context.Context, _ []string) (err error) {
			if port < 0 || port > 65535 {
				return usagef("--port must be from 0 to 65535, got %d", port)
			}
			if cmd.Flags().Changed("port") {
				o.Port = &port
			}
			if cmd.Flags().Changed("mdns") {
				o.MDNS = &mdns
			}
			if o.Options, err = a.options(dir); err != nil {
				return err
			}
			if o.Trust = word; word != "" {
				if _, err := a.heedConfig(ctx, o.Options); err != nil {
					return err
				}
			}
			o.Sandbox = sandboxed
			tell := a.heedKeys(ctx)
			err = a.host.Serve(ctx, o, func(l Listening) {
				a.sayListening(l, asJSON)
				tell("")
			})
			if errors.Is(err, errSignal) || errors.Is(err, context.Canceled) {
				return nil // this is how serving ends
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&o.Hostname, "hostname", "", "the address to listen on (127.0.0.1, or 0.0.0.0 with --mdns)")
	cmd.Flags().IntVar(&port, "port", 0, "the port; 0 takes 4096 or a free one")
	cmd.Flags().BoolVar(&mdns, "mdns", false, "let the local network find the server")
	cmd.Flags().StringVar(&o.MDNSDomain, "mdns-domain", "", "the `NAME` under which it is found (opencode.local)")
	trustFlag(cmd, &word)
	cmd.Flags().BoolVar(&o.OpenLocal, "open-local", false, "serve requests from this machine without credentials, whoever's they are")
	cmd.Flags().StringSliceVar(&o.Origins, "cors", nil, "let pages of this `ORIGIN` in; can be repeated")
	cmd.Flags().BoolVar(&sandboxed, "sandbox", false, "run commands in a sandbox: no network, no writing outside of their directory")
	cmd.Flags().StringVar(&dir, "dir", "", "the `DIRECTORY` of requests that name none")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// sayListening prints where the server answers; programs wait for this line, so its first form is OpenCode's.
func (a *app) sayListening(l Listening, asJSON bool) {
	if asJSON {
		a.printLine(l)
		return
	}
	if l.URL != "" {
		a.out.printf("opencode server listening on %s\n", l.URL)
	}
	if l.Socket != "" {
		a.err.printf("and on the socket %s\n", l.Socket)
	}
	if l.MDNS != "" {
		a.err.printf("and in the local network as %s\n", l.MDNS)
	}
	if l.Note != "" {
		a.err.printf("%s\n", l.Note)
	}
}
