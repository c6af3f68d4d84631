package share

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/transfer/sharepage"
)

func (g shareCommands) serveCommand() *cobra.Command {
	var host string
	var port uint16
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve pages of the shared sessions", Args: cobra.NoArgs,
		Long: "Serve a page of each shared session, which grows while the session continues. Pages are read-only: they have no script\n" +
			"and no cookie, load nothing, and are not listed. This server is separate from cairn serve.\n\n" +
			"To let others read them, run a reverse proxy with TLS in front of it, and set its address as sharing.url in your\n" +
			"configuration.",
		Example: "  cairn share serve\n  cairn share serve --port 8080",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, _ []string) error {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
			if err != nil {
				return fmt.Errorf("listen for readers: %w; use --port to select another port", err)
			}
			g.printPages(l.Addr())
			return servePages(ctx, l, &sharepage.Server{API: c, Logger: slog.Default()})
		}),
	}
	cmd.Flags().StringVar(&host, "hostname", "127.0.0.1", "listen on this `ADDRESS`")
	cmd.Flags().Uint16Var(&port, "port", config.DefaultPagePort, "listen on this `PORT`; 0 is a free one")
	return g.inv.AddJSONFlag(cmd)
}

// printPages prints the address of the page server.
func (g shareCommands) printPages(at net.Addr) {
	if g.inv.JSON {
		g.inv.PrintJSONLine(struct {
			URL string `json:"url"`
		}{"http://" + at.String()})
		return
	}
	g.inv.Out.Printf("shared sessions are shown at http://%s\n", at)
	if a, err := netip.ParseAddrPort(at.String()); err == nil && !a.Addr().IsLoopback() {
		g.inv.Note("without TLS, the pages can be read on the network")
	}
}

// The bounds of a connection of a reader. A page is open for long; each of its writes has a time of its own.
const (
	headerTime  = 10 * time.Second
	idleTime    = time.Minute
	headerBytes = 16 << 10
	closeTime   = 2 * time.Second
)

// servePages serves until ctx ends.
func servePages(ctx context.Context, l net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close() // readers that do not read
		}
	})
	err := server.Serve(l)
	if !stop() { // Shutdown has begun
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
