// Package host wires one process: a store, a log, an engine and its surfaces, with one scope per location. It also
// connects to a process that has them already.
//
// One process at a time owns a data folder: it holds the lease (sqlite.Lease). Every other cairn on the same folder is
// its client, or its relay if it is a server:
//
//	            Host.Open                          Host.Serve
//	                |                                  |
//	     acquireLeaseOrConnect                acquireLeaseOrOwner
//	      /         |        \                 /               \
//	  lease     unwritable   held           lease             held
//	    |     disk, Read       |              |                 |
//	startOwner  openReadOnly  client     serveAsOwner     serveAsRelay
//	    |          |           |              ^                 |
//	in-memory   in-memory   unix socket       |     passes requests to the owner,
//	client      client      to the owner      |     polls the lease (awaitLease)
//	    |                                     |                 |
//	drainClients, then stop                   +---- lease ------+---- another owner: switchOwner
//
// With client.Options.Detach, Host.Open gives the lease up to a background server (startDetached):
//
//	lease -> Release -> startBackgroundServer -> acquireLeaseOrConnect
//	                                                /             \
//	                                              held           lease: there is no such server
//	                                                |               |
//	                                              client        startOwner
//
// Host.FindOwner reads the lease and takes nothing.
//
// A command that owns the data waits when its own work is done: drainClients lets the work of its clients end, within
// 30 seconds. Then it stops: it cuts what still runs so that the next owner resumes it, closes the store and releases
// the lease. Clients that were refused or cut off open again, and one of them becomes the owner. A relay that gets the
// lease takes over at the same address, with the same listening socket and the same credentials.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/discovery"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// Host opens, serves, checks and copies what cairn stores. It implements cli.Host; the zero value is ready.
type Host struct{}

// How long a command waits for an owner that is starting or stopping, and between two attempts. An owner that stops may
// wait for its clients before.
const (
	ownerTimeout = drainTimeout + stopTimeout + 6*time.Second
	firstRetry   = 5 * time.Millisecond
	maxRetry     = 100 * time.Millisecond
	noteDelay    = 2 * time.Second // before a command that waits says so
)

// Open implements cli.Host.
func (h Host) Open(ctx context.Context, o client.Options) (*client.Connection, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	if err := checkSandbox(o); err != nil {
		return nil, err
	}
	lease, c, err := acquireLeaseOrConnect(ctx, dirs, o)
	// On a full disk a command that deletes gets room for it. Any other one would use the reserve up and delete nothing.
	dropIndex := func() error { return searchindex.Remove(dirs.Data) }
	for o.Deletes && isFullDisk(err) && makeRoom(dirs.Data, dropIndex) {
		lease, c, err = acquireLeaseOrConnect(ctx, dirs, o)
	}
	if isUnwritableDisk(err) {
		return h.openReadOnly(ctx, dirs, o)
	}
	if lease == nil {
		return c, err
	}
	if o.Read {
		if err := lease.Release(); err != nil {
			return nil, err
		}
		return h.openReadOnly(ctx, dirs, o)
	}
	if o.Detach {
		if lease, c, err = startDetached(ctx, lease, dirs, o); lease == nil {
			return c, err
		}
	}
	return h.startOwner(ctx, lease, dirs, o) // without a timeout: a migration may take long
}

// startDetached gives the lease to a background server and returns a connection to it. If none can be started it
// returns a lease.
func startDetached(
	ctx context.Context, lease *sqlite.Lease, dirs config.Directories, o client.Options,
) (*sqlite.Lease, *client.Connection, error) {
	if err := lease.Release(); err != nil {
		return nil, nil, err
	}
	_, failure := startBackgroundServer(ctx, dirs, o, []string{"--socket-only"})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	lease, c, err := acquireLeaseOrConnect(ctx, dirs, o)
	if lease != nil { // without a lease this server answers, or one that another command has started meanwhile
		if failure == nil {
			failure = fmt.Errorf("it has ended; its log is %s", dirs.BackgroundLog())
		}
		notifyUser(o, fmt.Sprintf("no background server: %v; this process does the work, and ends it when it ends", failure))
	}
	return lease, c, err
}

// isUnwritableDisk reports whether the lease cannot be written because the disk is full or read-only. Sessions can
// still be read then (G11).
func isUnwritableDisk(err error) bool {
	return isFullDisk(err) || errors.Is(err, syscall.EROFS)
}

func isFullDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// openReadOnly opens the data for reading, for this process alone.
func (h Host) openReadOnly(ctx context.Context, dirs config.Directories, o client.Options) (*client.Connection, error) {
	w, err := openOwner(ctx, nil, dirs, o)
	if err != nil {
		return nil, err
	}
	w.local = w.v2.NewHandler()
	return &client.Connection{API: localClient(w.local, o), Close: w.close}, nil
}

// localClient returns a client that calls a handler of this process.
func localClient(handler http.Handler, o client.Options) *api.Client {
	return &api.Client{
		HTTP: &http.Client{Transport: api.Local(handler)}, Base: "http://localhost", Directory: o.Dir, IsLocal: true,
	}
}

// acquireLeaseOrConnect returns the lease if it is free, else a connection to the process that holds it.
func acquireLeaseOrConnect(
	caller context.Context, dirs config.Directories, o client.Options,
) (*sqlite.Lease, *client.Connection, error) {
	ctx, cancel := context.WithTimeout(caller, ownerTimeout)
	defer cancel()
	start := time.Now()
	for retry := firstRetry; ; retry = min(2*retry, maxRetry) {
		lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{Version: o.Version})
		if err == nil {
			return lease, nil, nil
		}
		// The lease is held: see whether its holder answers.
		held, ok := errors.AsType[*sqlite.HeldError](err)
		if !ok {
			return nil, nil, dataDirectoryError(dirs.Data, err)
		}
		if err := checkOwnerOptions(held, o); err != nil {
			return nil, nil, err
		}
		c, err := connectToOwner(ctx, held.Owner, o)
		if err == nil || errors.Is(err, errNoSandbox) {
			return nil, c, err
		}
		// An answer that will not change ends the attempts.
		if errors.Is(err, peer.ErrTool) || errors.Is(err, peer.ErrHidden) {
			return nil, nil, err
		}
		if isRefusal(err) {
			return nil, nil, fmt.Errorf("process %d owns the data folder %s and refuses this process: %w",
				held.Owner.PID, held.Dir, err)
		}
		// No answer yet: the owner is starting or stopping.
		if o.Note != nil && caller.Err() == nil && time.Since(start) > noteDelay {
			o.Note(describeUnresponsive(held) + "; waiting for it")
			o.Note = nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, session.Errorf(session.CodeUnavailable, "%s; stop it if it hangs, and try again",
				describeUnresponsive(held)).Because(context.Cause(caller))
		case <-time.After(retry):
		}
	}
}

// dataDirectoryError explains why the data directory cannot be used.
func dataDirectoryError(dir string, err error) error {
	pathErr, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	return session.Errorf(session.CodeUnavailable,
		"the data directory %s cannot be used: %s: %v; use a home (CAIRN_HOME) that you can write to",
		dir, pathErr.Path, pathErr.Err).Because(err)
}

// checkOwnerOptions fails if the options need a process that does the work itself.
func checkOwnerOptions(held *sqlite.HeldError, o client.Options) error {
	switch {
	case o.Program.NeedsOwnProcess():
		return session.Errorf(session.CodeConflict, "the settings, models, tools, sources and hooks of this program "+
			"need a process that does the work itself, and process %d owns %s; stop it, or use another home", held.Owner.PID, held.Dir)
	case o.Trust != "":
		return session.Errorf(session.CodeConflict, "--trust has no effect here: "+
			"process %d owns %s and does the work; start that one with --trust, or use cairn trust",
			held.Owner.PID, held.Dir)
	case o.Record != "" || o.Replay != "":
		return session.Errorf(session.CodeConflict, "recording and replay need a process that does the work itself, "+
			"and process %d owns %s; stop it, or set CAIRN_HOME to another directory", held.Owner.PID, held.Dir)
	default:
		return nil
	}
}

// isRefusal reports whether the owner denies its service, as it does to processes that its own tools started.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeDenied
}

// describeUnresponsive names the process that holds the lease and does not answer.
func describeUnresponsive(held *sqlite.HeldError) string {
	pid := "unknown"
	if held.Owner.PID != 0 {
		pid = strconv.Itoa(held.Owner.PID)
	}
	return fmt.Sprintf("another cairn process (pid %s) owns the data folder %s and does not answer", pid, held.Dir)
}

// Config implements cli.Host.
func (h Host) Config(ctx context.Context, o client.Options) (*config.Config, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	pr, err := peekProject(ctx, dirs, o.Dir)
	if err != nil {
		return nil, err
	}
	return config.Load(ctx, config.Options{
		Directory: pr.Directory, Worktree: pr.Worktree, Project: pr.History(), Trust: newTrustJudge(dirs, o),
		Dirs: dirs, Env: o.Env, All: true, Plugins: &config.PluginChanges{Loaded: true}, // the owner says which are not
		Remotes: wellknown.ListCached(auth.New(dirs.Data, o.Env), wellknown.NewCache(dirs.Cache)),
	})
}

// peekProject returns the project of a directory, with what the store knows of its repository.
func peekProject(ctx context.Context, dirs config.Directories, dir string) (project.Project, error) {
	finder := &project.Finder{}
	if _, isGit := checkout.Find(dir); isGit && !hasNoStore(dirs) {
		s, err := sqlite.Open(ctx, sqlite.Config{Dir: dirs.Data, ReadOnly: true})
		if err == nil { // else git tells
			defer func() { _ = s.Close() }()
			finder.Store = s
		}
	}
	pr, err := finder.Peek(ctx, dir)
	if err != nil && finder.Store != nil {
		return new(project.Finder).Peek(ctx, dir)
	}
	return pr, err
}

// Trust implements cli.Host.
func (h Host) Trust(o client.Options) (*trust.Store, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	return trust.New(dirs.Data), nil
}

// OwnTransport implements cli.Host.
func (h Host) OwnTransport(ctx context.Context, o client.Options, address string) (http.RoundTripper, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	socket, err := discovery.FindSocket(ctx, dirs.Data, address)
	if err != nil || socket == "" {
		return nil, err
	}
	return discovery.NewTransport(socket), nil
}

func newTrustJudge(dirs config.Directories, o client.Options) *trust.Judge {
	return &trust.Judge{Store: trust.New(dirs.Data), Override: o.Trust}
}
