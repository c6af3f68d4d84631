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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/connlimit"
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
			l, err := listen(ctx, net.JoinHostPort(host, strconv.Itoa(int(port))))
			if err != nil {
				return err
			}
			if err := g.printPages(ctx, l.Addr()); err != nil {
				_ = l.Close() // nothing was served
				return err
			}
			return servePages(ctx, l, &sharepage.Server{API: c, Logger: slog.Default()}, maxConnections)
		}),
	}
	cmd.Flags().StringVar(&host, "hostname", "127.0.0.1", "listen on this `ADDRESS`")
	cmd.Flags().Uint16Var(&port, "port", config.DefaultPagePort, "listen on this `PORT`; 0 is a free one")
	return g.inv.AddJSONFlag(cmd)
}

// listen listens at an address. An error says which flag selects another one.
func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen for readers: %w; use --port to select another port", err)
	case err != nil:
		return nil, fmt.Errorf("listen for readers at %s: %w; --hostname must be an address of this machine", address, err)
	}
	return l, nil
}

// printPages prints the address of the page server and, if it differs, the prefix of the addresses of shares.
func (g shareCommands) printPages(ctx context.Context, at net.Addr) error {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	cfg, err := g.inv.Host.Config(ctx, o)
	if err != nil {
		return err
	}
	served, pageURL := "http://"+at.String(), cfg.PageURL()
	if g.inv.JSON {
		g.inv.PrintJSONLine(struct {
			URL     string `json:"url"`
			PageURL string `json:"pageURL"` // the prefix of the addresses of shares
		}{served, pageURL})
		return nil
	}
	g.inv.Out.Printf("shared sessions are served at %s\n", served)
	if pageURL != served {
		g.inv.Note("the addresses of shares begin with " + pageURL + "; set sharing.url to change them")
	}
	if a, err := netip.ParseAddrPort(at.String()); err == nil && !a.Addr().IsLoopback() {
		g.inv.Note("without TLS, the pages can be read on the network")
	}
	return nil
}

// The bounds of a connection of a reader. A page is open for long; each of its writes has a timeout of its own.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = time.Minute
	headerBytes   = 16 << 10
	closeTimeout  = 2 * time.Second
	// maxConnections bounds the open connections with requests, and those without one.
	maxConnections = 512
)

// servePages serves until ctx ends, with at most limit known connections.
func servePages(ctx context.Context, l net.Listener, handler http.Handler, limit int) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: connlimit.WithConn,
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close() // the readers that do not read in time
		}
	})
	err := server.Serve(connlimit.NewListener(l, limit))
	if !stop() { // Shutdown has begun
		<-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
