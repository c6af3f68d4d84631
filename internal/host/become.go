package host

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

// How an owner leaves.
const (
	lingerTime = 30 * time.Second // for the work of clients, after its own is done
	stopTime   = 4 * time.Second  // to cut and record what still runs
)

// running is an owner that listens.
type running struct {
	*owner
	server *server.Server
	served chan error // the outcome of Serve; capacity 1
	local  http.Handler
	socket string // "" when nothing can be written
}

// run opens everything behind the lease, listens, says where, and goes on with unfinished work. Without a lease, because
// nothing can be written, everything is for reading only. Without an address only programs of the same user are answered.
func run(ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o cli.ServeOptions, at *address) (*running, error) {
	w, err := own(ctx, lease, dirs, o.Options)
	if err != nil {
		return nil, err
	}
	r := &running{owner: w, served: make(chan error, 1)}
	if err := r.listen(ctx, o, at); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	// Unfinished work goes on before the first request is answered, so that no interrupt comes too early to be heard.
	if !o.Passive {
		err = w.recover(ctx)
	}
	go func() { r.served <- r.server.Serve() }() // ends with Shutdown
	if err != nil {
		return nil, errors.Join(err, r.stop(ctx))
	}
	w.tidy(ctx, at != nil)
	return r, nil
}

func (r *running) listen(ctx context.Context, o cli.ServeOptions, at *address) error {
	secret, err := server.LoadSecret(r.dirs.Data)
	if err != nil {
		return err
	}
	if r.lease != nil {
		r.socket = server.SocketPath(r.dirs.Data)
	}
	c := listenerOf(o, at)
	c.V1, c.V2, c.Secret, c.Socket, c.BodyLimit, c.Logger = r.old, r.api, secret, r.socket, r.body, r.logger
	if r.server, err = server.New(c); err != nil {
		return err
	}
	if err := r.server.Listen(ctx); err != nil {
		return err
	}
	r.local = r.server.Local()
	if r.lease == nil {
		return nil
	}
	addresses := []string{(&url.URL{Scheme: "unix", Path: r.socket}).String()}
	if at != nil {
		addresses = append(addresses, r.server.URL())
	}
	err = server.Announce(r.dirs.Data, server.Discovery{
		PID: os.Getpid(), Version: o.Version, Socket: r.socket, URL: r.server.URL(), Secret: secret, Started: time.Now().UnixMilli(),
	})
	if err == nil {
		err = r.lease.Update(addresses...)
	}
	if err != nil { // a full disk: who finds us can read all the same
		r.logger.Error("say where this server is", "error", err)
	}
	return nil
}

// stop leaves in order: no new work, work cut so that the next owner can go on with it, streams ended, the folder
// given up.
func (r *running) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := r.engine.Close(ctx)
	err = errors.Join(err, r.server.Shutdown(ctx), server.Withdraw(r.dirs.Data, os.Getpid()))
	return errors.Join(err, r.release())
}

// linger lets the work of other clients come to its end, within bounds, and stops.
func (r *running) linger(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, lingerTime)
	defer cancel()
	for r.busy() && wait.Err() == nil { // what is left after this time is cut, and the next owner goes on with it
		select {
		case <-wait.Done():
		case <-time.After(lastLook / 4):
		}
	}
	return r.stop(ctx)
}

// busy reports whether a session is at work. One that only waits for people is not: it waits as well under the next owner.
func (r *running) busy() bool {
	return slices.ContainsFunc(r.engine.Active(), func(id session.ID) bool { return !r.engine.Rests(id) })
}

func (h Host) become(ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o cli.Options) (*cli.Connection, error) {
	r, err := run(ctx, lease, dirs, cli.ServeOptions{Options: o}, nil)
	if err != nil {
		return nil, err
	}
	client := &api.Client{HTTP: &http.Client{Transport: api.Local(r.local)}, Base: "http://localhost", Directory: o.Dir}
	return &cli.Connection{API: client, Close: r.linger}, nil
}

// dial returns a connection to the owner, if it answers.
func dial(ctx context.Context, owner sqlite.Owner, o cli.Options) (*cli.Connection, error) {
	for _, address := range owner.Addresses {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "unix" {
			continue
		}
		t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", u.Path)
		}}
		client := &api.Client{HTTP: &http.Client{Transport: t}, Base: "http://localhost", Directory: o.Dir}
		ctx, cancel := context.WithTimeout(ctx, dialTime)
		defer cancel()
		health, err := client.Health(ctx)
		if err == nil && o.Sandbox && !health.Sandbox {
			err = session.Errorf(session.CodeConflict, "process %d runs commands without a sandbox; stop it, start it with --sandbox, or set CAIRN_HOME to another directory", owner.PID).Because(errUnbound)
		}
		if err != nil {
			t.CloseIdleConnections()
			return nil, err
		}
		return &cli.Connection{API: client, Close: func(context.Context) error { t.CloseIdleConnections(); return nil }}, nil
	}
	return nil, errNobody
}

// dialTime is how long an owner may take to say that it is there.
const dialTime = 2 * time.Second

// errUnbound: the owner answers, and runs commands in no sandbox although one was asked for.
var errUnbound = errors.New("no sandbox")

var errNobody = errors.New("the owner has said no address yet")
