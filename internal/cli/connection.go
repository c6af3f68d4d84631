package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
)

// ClientAction is Action for a command that works through a client.
func (a *Invocation) ClientAction(
	f func(ctx context.Context, c *api.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return a.Action(func(ctx context.Context, args []string) error {
		return a.WithClient(ctx, func(ctx context.Context, c *api.Client) error { return f(ctx, c, args) })
	})
}

// DeleteAction is ClientAction for a command that deletes: on a full disk it may take the reserve.
func (a *Invocation) DeleteAction(
	f func(ctx context.Context, c *api.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return a.Action(func(ctx context.Context, args []string) error {
		return a.WithDeleteClient(ctx, func(ctx context.Context, c *api.Client) error { return f(ctx, c, args) })
	})
}

// HostAction is Action for a command that works through the host in the working directory.
func (a *Invocation) HostAction(
	f func(ctx context.Context, o client.Options, args []string) error,
) func(*cobra.Command, []string) error {
	return a.Action(func(ctx context.Context, args []string) error {
		o, err := a.HostOptions("")
		if err != nil {
			return err
		}
		return f(ctx, o, args)
	})
}

// WithClient calls f with a client that starts no work of its own and reconnects when the owner of the store changes.
func (a *Invocation) WithClient(ctx context.Context, f func(context.Context, *api.Client) error) error {
	o, err := a.HostOptions("")
	if err != nil {
		return err
	}
	return a.WithHostClient(ctx, o, f)
}

// WithDeleteClient is WithClient for a command that deletes: on a full disk it may take the reserve.
func (a *Invocation) WithDeleteClient(ctx context.Context, f func(context.Context, *api.Client) error) error {
	o, err := a.HostOptions("")
	if err != nil {
		return err
	}
	o.Deletes = true
	return a.WithHostClient(ctx, o, f)
}

// WithHostClient is WithClient with other options of the host.
func (a *Invocation) WithHostClient(
	ctx context.Context, o client.Options, f func(context.Context, *api.Client) error,
) error {
	h, err := a.OpenHostClient(ctx, o)
	if err != nil {
		return err
	}
	a.Owner = h.Owner
	err = f(ctx, h.API)
	if closeErr := h.Close(context.WithoutCancel(ctx), a.Note); closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	return err
}

// HostClient is a client of the owner of the store on this machine. It reconnects when the owner changes.
type HostClient struct {
	API   *api.Client
	Owner string // describes the other process that does the work; "" if this one does
	// Reconnected has a value after the client got another connection than the first.
	Reconnected <-chan struct{}

	inv       *Invocation
	transport *follow.ReconnectTransport
}

// OpenHostClient connects to the owner of the store. The caller closes the client.
func (a *Invocation) OpenHostClient(ctx context.Context, o client.Options) (*HostClient, error) {
	connected := make(chan struct{}, 1)
	t := follow.NewReconnectTransport(func(ctx context.Context) (*client.Connection, error) {
		conn, err := a.Host.Open(ctx, o)
		if err == nil {
			select {
			case connected <- struct{}{}:
			default: // it has a value
			}
		}
		return conn, err
	})
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	<-connected // the first one
	c := *conn.API
	c.HTTP = &http.Client{Transport: t}
	return &HostClient{API: &c, Owner: conn.Owner, Reconnected: connected, inv: a, transport: t}, nil
}

// Close closes the connection, if there is one. note is called with what the process waits for.
func (h *HostClient) Close(ctx context.Context, note func(string)) error {
	conn := h.transport.Release()
	if conn == nil {
		return nil
	}
	return h.inv.CloseConnection(ctx, conn, note)
}

// CloseConnection closes the connection. If this process owns the store and waits for sessions at work first, it says
// so once; a signal stops them. It says nothing while it waits for programs that end, such as MCP servers.
func (a *Invocation) CloseConnection(ctx context.Context, conn *client.Connection, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- conn.Close(ctx) }() // awaited below
	slow, asked := time.After(time.Second), a.Stopping
	var leave <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-slow:
			if leave == nil && conn.IsWorking != nil && conn.IsWorking() {
				note(
					"this process waits up to 30s for sessions that are still working, then stops them; " +
						"press Ctrl-C to stop them now",
				)
			}
		case <-asked:
			asked, leave = nil, time.After(leaveTimeout)
		case <-leave:
			cancel()
		}
	}
}
