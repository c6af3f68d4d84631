package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// Serve implements cli.Host. If another process owns the data, this one serves as its relay, and takes over when it is
// gone: at the same address, with the same credentials.
func (h Host) Serve(ctx context.Context, o client.ServeOptions, ready func(client.Listening)) error {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	if o.Background {
		return serveInBackground(ctx, dirs, o, ready)
	}
	if err := checkSandbox(o.Options); err != nil {
		return err
	}
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return err
	}
	o.Env = withLogLevel(o.Env, user.LogLevel)
	s := serverProcess{
		dirs: dirs, options: o, address: resolveAddress(o, user.Server), bodyLimit: int64(user.Limits.Body),
		streams: int(user.Limits.Streams),
	}
	if o.SocketOnly {
		s.address = nil
	}
	// Without the lease this process is a relay, until it gets the lease.
	lease, owner, err := acquireLeaseOrOwner(ctx, dirs, o.Options)
	if err == nil && lease == nil && (o.SocketOnly || o.UntilIdle) {
		return session.Errorf(session.CodeConflict, "process %d already serves %s", owner.PID, dirs.Data)
	}
	if err == nil && lease == nil {
		s.setOwner(ctx, owner.PID)
		s.options.Sandbox = o.Sandbox.ChooseStricter(owner.Sandbox) // of the sessions that clients of this address begin
		lease, err = s.serveAsRelay(ctx, ready)
		if lease == nil {
			return err
		}
		ready = func(client.Listening) {
			notifyUser(o.Options, "the process that owned the data has ended; this process owns it now")
		}
	}
	if err != nil && !isUnwritableDisk(err) {
		return err
	}
	return s.serveAsOwner(ctx, lease, ready)
}

// serveInBackground starts a background server and returns when it answers.
func serveInBackground(
	ctx context.Context, dirs config.Directories, o client.ServeOptions, ready func(client.Listening),
) error {
	lease, owner, err := acquireLeaseOrOwner(ctx, dirs, o.Options)
	if err != nil {
		return err
	}
	if lease == nil {
		return session.Errorf(session.CodeConflict, "process %d already serves %s; stop it first with: "+
			"kill %[1]d; or serve beside it: cairn serve without --background", owner.PID, dirs.Data)
	}
	if err := lease.Release(); err != nil {
		return err
	}
	l, err := startBackgroundServer(ctx, dirs, o.Options, o.Arguments)
	if err == nil {
		ready(l)
	}
	return err
}

// serverProcess is a server, first as a relay of another process or at once as the owner.
type serverProcess struct {
	dirs      config.Directories
	options   client.ServeOptions
	address   *listenAddress
	bodyLimit int64 // of a request to a relay, in bytes
	streams   int   // of one client of a relay; 0 is the default

	// The owner that a relay passes requests to. In another namespace of processes it has another pid than here.
	ownerPID     atomic.Int64 // as the owner announces it
	ownerPIDHere atomic.Int64 // as the kernel names it to this process; 0 if unknown
	joined       bool         // the owner has answered
}

// serveAsOwner serves until ctx ends. Without a lease, because the disk is unwritable, the data is read-only.
func (s *serverProcess) serveAsOwner(ctx context.Context, lease *sqlite.Lease, ready func(client.Listening)) error {
	r, err := startOwnerServer(ctx, lease, s.dirs, s.options, s.address)
	if err != nil {
		return err
	}
	fetch, stop := context.WithCancel(ctx)
	defer stop()
	r.background.Go(func() {
		r.locations.models.RunRefresh(fetch, func(err error) { r.logger.InfoContext(fetch, "models", "error", err) })
	})
	r.background.Go(func() { logSandbox(r.logger) })
	r.background.Go(func() { lease.WatchLoss(fetch, func(err error) { r.served <- err }) })
	ended, idle := context.WithCancel(ctx)
	defer idle()
	ready(describeListener(r.server, r.socket, s.address))
	if s.options.UntilIdle {
		r.background.Go(func() { r.awaitIdle(fetch); idle() })
	}
	select {
	case <-ended.Done():
	case err = <-r.served:
	}
	stop()
	return errors.Join(err, r.stop(ctx))
}

// serveAsRelay passes requests to the owner until that is gone, and returns the lease then. The lease is nil if ctx
// ends first, or with an error.
func (s *serverProcess) serveAsRelay(ctx context.Context, ready func(client.Listening)) (*sqlite.Lease, error) {
	front, err := s.newRelay()
	if err == nil {
		err = front.Listen(ctx)
	}
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- front.Serve() }() // ends with Shutdown
	l := describeListener(front, "", s.address)
	ready(l)
	notifyUser(s.options.Options, fmt.Sprintf("process %d owns the data and does the work, with its environment; "+
		"this process relays requests to it", s.ownerPID.Load()))
	lease, err := s.awaitLease(ctx, served)
	if u, perr := url.Parse(l.URL); perr == nil && lease != nil { // the address that clients know
		s.address.port, _ = strconv.Atoi(u.Port())
		s.address.listener = front.DuplicateListener()
	}
	wait := maxRetry // open requests get no answer any more
	if ctx.Err() != nil {
		wait = time.Second // the owner still answers them, but streams do not end by themselves
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	_ = front.Shutdown(end)
	return lease, err
}

func (s *serverProcess) newRelay() (*server.Server, error) {
	secret, err := discovery.LoadSecret(s.dirs.Data)
	if err != nil {
		return nil, err
	}
	log := NewLogger(s.options.Env)
	c := listenerConfig(s.options, s.address)
	c.V1, c.V2 = v1.New(v1.Config{Logger: log}), v2.New(v2.Config{Logger: log})
	c.Streams = s.streams
	c.Secret, c.BodyLimit, c.Logger, c.Tokens = secret, s.bodyLimit, log, accesstoken.New(s.dirs.Data)
	c.Audit = audit.New(s.dirs.Data)
	c.Relay = server.Relay{Socket: discovery.SocketPath(s.dirs.Data), Directory: s.options.Dir}
	if s.options.Sandbox.IsConfined() {
		c.Relay.Owner = func(pid int) bool { return int64(pid) == s.ownerPIDHere.Load() } // switchOwner checks others
	}
	if err := peer.ProtectProcess(); err != nil {
		return nil, err
	}
	isSelf := c.ToolProcess
	c.ToolProcess = func(pid int) bool { // the children of the owner are tools
		return isSelf(pid) || int64(pid) == s.ownerPIDHere.Load()
	}
	return server.New(c)
}

// leasePollInterval is the interval at which a relay tries to get the lease. One attempt opens a file and locks it.
const leasePollInterval = 250 * time.Millisecond

// awaitLease waits until the lease is free and returns it. It returns nil if ctx or the relay ends before.
func (s *serverProcess) awaitLease(ctx context.Context, served <-chan error) (*sqlite.Lease, error) {
	poll := time.NewTicker(leasePollInterval)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case err := <-served:
			return nil, err
		case <-poll.C:
		}
		lease, err := sqlite.AcquireLease(s.dirs.Data, sqlite.Owner{Version: s.options.Version})
		held, ok := errors.AsType[*sqlite.HeldError](err)
		if !ok {
			return lease, err
		}
		if int64(held.Owner.PID) == s.ownerPID.Load() && s.joined {
			continue
		}
		if err := s.switchOwner(ctx, held.Owner); err != nil {
			return nil, err
		}
	}
}

// switchOwner makes another owner the one that requests are passed to, if it runs commands in the sandbox that was
// asked for. An owner that does not answer yet is checked in the next poll.
func (s *serverProcess) switchOwner(ctx context.Context, owner sqlite.Owner) error {
	if s.options.Sandbox.IsConfined() {
		c, err := connectToOwner(ctx, owner, s.options.Options)
		if errors.Is(err, errNoSandbox) {
			return err
		}
		if err != nil {
			return nil
		}
		_ = c.Close(ctx)
	}
	s.setOwner(ctx, owner.PID)
	return nil
}

func (s *serverProcess) setOwner(ctx context.Context, pid int) {
	here, err := server.JoinOwner(ctx, discovery.SocketPath(s.dirs.Data))
	s.ownerPIDHere.Store(int64(here))
	s.ownerPID.Store(int64(pid))
	s.joined = err == nil
}

// acquireLeaseOrOwner returns the lease, or the health of the process that has it. It waits for a process that is
// starting, and for one that died: the kernel keeps its lock until its last child between fork and exec is gone.
func acquireLeaseOrOwner(
	ctx context.Context, dirs config.Directories, o client.Options,
) (lease *sqlite.Lease, owner api.Health, err error) {
	lease, c, err := acquireLeaseOrConnect(ctx, dirs, o)
	if c == nil {
		return lease, owner, err
	}
	return nil, c.Health, c.Close(ctx)
}

// describeListener returns where a server answers.
func describeListener(s *server.Server, socket string, at *listenAddress) client.Listening {
	l := client.Listening{URL: s.URL(), Socket: socket, PID: os.Getpid()}
	if at == nil {
		return l
	}
	l.Note = at.note
	if u, err := url.Parse(l.URL); err == nil && at.mdns != "" {
		l.MDNS = net.JoinHostPort(at.mdns, u.Port())
	}
	return l
}
