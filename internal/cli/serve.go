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
	var announce announceFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP API until Ctrl-C", Args: cobra.NoArgs,
		Long: "Serve owns the store and answers on a Unix socket and on the loopback address. Other cairn commands find it\n" +
			"by themselves and become its clients. A port that others can reach needs CAIRN_SERVER_PASSWORD.",
		Example: "  cairn serve\n  cairn serve --port 4096\n  CAIRN_SERVER_PASSWORD=… cairn serve --hostname 0.0.0.0 --port 4096",
		RunE: a.does(func(ctx context.Context, _ []string) (err error) {
			if o.Port < 0 || o.Port > 65535 {
				return usagef("--port must be from 0 to 65535, got %d", o.Port)
			}
			if o.Options, err = a.options(dir); err != nil {
				return err
			}
			if o.Trust = word; word != "" {
				if _, err := a.heedConfig(ctx, o.Options); err != nil {
					return err
				}
			}
			if err := announce.refuse(); err != nil {
				return err
			}
			o.Sandbox = sandboxed
			err = a.host.Serve(ctx, o, func(l Listening) { a.sayListening(l, asJSON) })
			if errors.Is(err, errSignal) || errors.Is(err, context.Canceled) {
				return nil // this is how serving ends
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&o.Hostname, "hostname", "127.0.0.1", "the address to listen on")
	cmd.Flags().IntVar(&o.Port, "port", 0, "the port; 0 takes a free one")
	trustFlag(cmd, &word)
	cmd.Flags().BoolVar(&o.OpenLocal, "open-local", false, "serve requests from this machine without credentials, whoever's they are")
	cmd.Flags().StringSliceVar(&o.Origins, "cors", nil, "let pages of this `ORIGIN` in; can be repeated")
	cmd.Flags().BoolVar(&sandboxed, "sandbox", false, "run commands in a sandbox: no network, no writing outside of their directory")
	cmd.Flags().StringVar(&dir, "dir", "", "the `DIRECTORY` of requests that name none")
	jsonFlag(cmd, &asJSON)
	announce.flags(cmd)
	return cmd
}

// announceFlags are those of OpenCode's server for what this one does not do.
type announceFlags struct {
	mdns   bool
	domain string
}

func (f *announceFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.mdns, "mdns", false, "")
	cmd.Flags().StringVar(&f.domain, "mdns-domain", "", "")
	hide(cmd.Flags(), "mdns", "mdns-domain")
}

func (f *announceFlags) refuse() error {
	if f.mdns || f.domain != "" {
		return usagef("--mdns: cairn does not announce itself on the network; give clients the address that it prints")
	}
	return nil
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
}
