package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/server"
	"github.com/cairn-dev/cairn/internal/session"
)

// Bounds on how an owner stops.
const (
	drainTimeout = 30 * time.Second // for the work of clients, after its own is done
	stopTimeout  = 4 * time.Second  // to cut and record what still runs
)

// ownerServer is an owner that listens for clients.
type ownerServer struct {
	*owner
	server *server.Server
	served chan error // the outcome of Serve, the loss of the lease; capacity 2
	socket string     // path; "" if the disk is unwritable

	background sync.WaitGroup // what stop waits for, after work has ended
}

// startOwnerServer opens the owner behind a lease, listens and announces the address. Without a lease, because the disk
// is unwritable, everything is read-only. With an address, as a server, or as a library, it resumes unfinished work; without an address it
// listens on the Unix socket only.
func startOwnerServer(
	ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o client.ServeOptions, at *listenAddress,
) (*ownerServer, error) {
	w, err := openOwner(ctx, lease, dirs, o.Options)
	if err != nil {
		return nil, err
	}
	r := &ownerServer{owner: w, served: make(chan error, 2)}
	if err := r.listen(ctx, o, at); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	noteMissingSandbox(dirs.State, o.Options, sandbox.Check)
	w.moveApprovals(ctx, o.Options)
	w.deleteEphemeral(ctx)
	// Unfinished work resumes before the first request is answered, so that no interrupt comes before the work. A
	// command resumes none: it would cut it off again when it ends. A program that embeds cairn is taken for a server.
	if at != nil || o.Program.IsLibrary {
		err = w.recover(ctx, o.Options)
	} else if ended := w.engine.Asks.DropEndedApprovals(ctx); ended != nil { // they do not hold any more
		w.logger.Warn("approvals of processes that ended could not be removed", "error", ended)
	}
	go func() { r.served <- r.server.Serve() }() // ends with Shutdown
	if err != nil {
		return nil, errors.Join(err, r.stop(ctx))
	}
	background := w.startSweeps(ctx, at != nil)
	w.startContentRemoval(background)
	w.startMirror(background)
	w.startSearch(background)
	w.startShares(background)
	if at == nil { // a server refreshes the list again and again
		w.startModelRefresh(background)
	}
	return r, nil
}

func (r *ownerServer) listen(ctx context.Context, o client.ServeOptions, at *listenAddress) error {
	secret, err := discovery.LoadSecret(r.dirs.Data)
	if err != nil {
		return err
	}
	// Only the process with the lease has the socket of the data directory.
	if r.lease != nil {
		r.socket = discovery.SocketPath(r.dirs.Data)
	}
	c := listenerConfig(o, at)
	c.V1, c.V2, c.Secret, c.Socket = r.v1, r.v2, secret, r.socket
	c.Streams = r.streams
	c.BodyLimit, c.Logger, c.Tokens = r.bodyLimit, r.logger, accesstoken.New(r.dirs.Data)
	c.Audit, c.MakeRoom = audit.New(r.dirs.Data), r.makeRoomAfter
	if r.server, err = server.New(c); err != nil {
		return err
	}
	if err := r.server.Listen(ctx); err != nil {
		return err
	}
	r.local = r.server.NewLocalHandler()
	r.locations.plugins.api.serve(r.server.NewExtensionHandler(), r.server.URL())
	// Tools have to know the port of this server.
	if u, err := url.Parse(r.server.URL()); err == nil {
		port, _ := strconv.ParseUint(u.Port(), 10, 16) // 0 without one
		r.locations.port.Store(int32(port))
	}
	if r.lease == nil {
		return nil
	}
	// Announce the addresses, after the server listens, in the discovery file and in the lease.
	addresses := []string{(&url.URL{Scheme: "unix", Path: r.socket}).String()}
	if at != nil {
		addresses = append(addresses, r.server.URL())
	}
	err = discovery.Write(r.dirs.Data, discovery.Server{
		PID: os.Getpid(), Version: o.Version, Socket: r.socket, URL: r.server.URL(), Secret: secret,
		Started: time.Now().UnixMilli(),
	})
	if err == nil {
		err = r.lease.Update(addresses...)
	}
	if err != nil { // the disk is full; clients that have the address can still read
		r.logger.Error("the address of this server could not be announced", "error", err)
	}
	return nil
}

// stop ends work so that the next owner can resume it, then streams, then releases the data folder.
func (r *ownerServer) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := r.engine.Close(ctx)
	err = errors.Join(err, r.server.Shutdown(ctx), discovery.Remove(r.dirs.Data, os.Getpid()))
	err = errors.Join(err, turnlog.AwaitGroup(ctx, &r.background))
	return errors.Join(err, r.release())
}

// drainClients waits until the work of clients has ended, at most drainTimeout, and stops. The next owner resumes what
// is cut.
func (r *ownerServer) drainClients(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for r.hasActiveWork() && wait.Err() == nil {
		select {
		case <-wait.Done():
		case <-time.After(maxRetry / 4):
		}
	}
	return r.stop(ctx)
}

// hasActiveWork reports whether a session is at work. One that waits for a person is not: it can wait under the next
// owner.
func (r *ownerServer) hasActiveWork() bool {
	return slices.ContainsFunc(r.engine.Active(), func(id session.ID) bool { return !r.engine.IsAwaitingReplies(id) })
}

// How long a background server is idle before it ends, and how long it waits for its first client.
const (
	idleGrace  = time.Second
	startGrace = 10 * time.Second
)

// awaitIdle returns when no client was connected and no session worked for a while, or ctx ends.
func (r *ownerServer) awaitIdle(ctx context.Context) {
	poll := time.NewTicker(idleGrace / 4)
	defer poll.Stop()
	idleSince, grace := time.Now(), startGrace
	for time.Since(idleSince) < grace {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if r.server.HasClients() || len(r.engine.Active()) > 0 || r.engine.Jobs.HasRunning() {
			idleSince, grace = time.Now(), idleGrace
		}
	}
}

// startOwner becomes the owner within this process and returns a client of it.
func (h Host) startOwner(
	ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o client.Options,
) (*client.Connection, error) {
	r, err := startOwnerServer(ctx, lease, dirs, client.ServeOptions{Options: o}, nil)
	if err != nil {
		return nil, err
	}
	return &client.Connection{API: localClient(r.local, o), Close: r.drainClients, IsWorking: r.hasActiveWork}, nil
}

// connectToOwner returns a connection to the owner if it answers.
func connectToOwner(ctx context.Context, owner sqlite.Owner, o client.Options) (*client.Connection, error) {
	for _, address := range owner.Addresses {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "unix" {
			continue
		}
		t := discovery.NewTransport(u.Path)
		c := &api.Client{HTTP: &http.Client{Transport: t}, Base: "http://localhost", Directory: o.Dir, IsLocal: true}
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		health, err := c.Health(ctx)
		if err == nil && !health.Sandbox.IsAtLeast(o.Sandbox) {
			err = session.Errorf(session.CodeConflict, "process %d begins sessions without the sandbox %q; "+
				"stop it, start it with --sandbox, or set CAIRN_HOME to another directory", owner.PID,
				string(o.Sandbox)).
				Because(errNoSandbox)
		}
		if err != nil {
			t.CloseIdleConnections()
			return nil, err
		}
		disconnect := func(context.Context) error { t.CloseIdleConnections(); return nil }
		since := time.UnixMilli(owner.Started).Format("15:04 on 2 January")
		return &client.Connection{
			API: c, Close: disconnect, Health: health, Owner: fmt.Sprintf("process %d (since %s)", owner.PID, since),
		}, nil
	}
	return nil, errNoAddress
}

// connectTimeout bounds the owner's answer to a health request.
const connectTimeout = 2 * time.Second

// Errors of connectToOwner.
var (
	errNoSandbox = errors.New("no sandbox") // the owner runs commands without one, although the command requires it
	errNoAddress = errors.New("the owner has not announced an address yet")
)
