package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/server"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store/sqlite"
)

// Serve implements cli.Host. Who finds the data in another process's hands serves as its relay, and takes its place when it
// is gone: at the same address, with the same credentials.
func (h Host) Serve(ctx context.Context, o cli.ServeOptions, ready func(cli.Listening)) error {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return session.Errorf(session.CodeInvalid, "%v", err)
	}
	if err := sandboxable(o.Options); err != nil {
		return err
	}
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return err
	}
	o.Env = logging(o.Env, user.LogLevel)
	s := service{dirs: dirs, options: o, at: addressOf(o, user.Server), body: int64(user.Limits.Body)}
	lease, owner, err := claim(ctx, dirs, o.Options)
	if err == nil && lease == nil {
		s.follows(ctx, owner.PID)
		s.options.Sandbox = o.Sandbox || owner.Sandbox // what is begun in one goes on in one
		lease, err = s.relay(ctx, ready)
		if lease == nil {
			return err
		}
		ready = func(cli.Listening) {
			noteTo(o.Options, "the process that owned the data is gone: this one owns it now")
		}
	}
	if err != nil && !readable(err) {
		return err
	}
	return s.own(ctx, lease, ready)
}

// service is what a server is to be, whether it owns the data or answers by who does.
type service struct {
	dirs    config.Directories
	options cli.ServeOptions
	at      *address
	body    int64 // bytes that a request to a relay may have
	// With relay, the process that owns the data: by the number that it says, and by the one that it has here, 0 if unknown.
	owner, seen atomic.Int64
}

// own owns the data until ctx ends. Without a lease, because nothing can be written, it only lets read.
func (s *service) own(ctx context.Context, lease *sqlite.Lease, ready func(cli.Listening)) error {
	r, err := run(ctx, lease, s.dirs, s.options, s.at)
	if err != nil {
		return err
	}
	var fetching sync.WaitGroup
	fetch, stop := context.WithCancel(ctx)
	fetching.Go(func() {
		r.places.models.RunRefresh(fetch, func(err error) { r.logger.InfoContext(fetch, "models", "error", err) })
	})
	ready(listening(r.server, r.socket, s.at))
	select {
	case <-ctx.Done():
	case err = <-r.served:
	}
	stop()
	fetching.Wait()
	return errors.Join(err, r.stop(ctx))
}

// relay answers by the owner until that is gone, and returns the lease then; nil when ctx ends first, or with an error.
func (s *service) relay(ctx context.Context, ready func(cli.Listening)) (*sqlite.Lease, error) {
	front, err := s.front()
	if err == nil {
		err = front.Listen(ctx)
	}
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- front.Serve() }() // ends with Shutdown
	l := listening(front, "", s.at)
	ready(l)
	noteTo(s.options.Options, fmt.Sprintf("process %d owns the data: it does the work, with its environment, and this one passes on", s.owner.Load()))
	lease, err := s.succeed(ctx, served)
	if u, perr := url.Parse(l.URL); perr == nil && lease != nil { // the address that clients know
		s.at.port, _ = strconv.Atoi(u.Port())
		s.at.listener = front.DuplicateListener()
	}
	wait := lastLook // without an owner nobody answers what is still asked
	if ctx.Err() != nil {
		wait = time.Second // streams do not end by themselves
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	_ = front.Shutdown(end)
	return lease, err
}

func (s *service) front() (*server.Server, error) {
	secret, err := server.LoadSecret(s.dirs.Data)
	if err != nil {
		return nil, err
	}
	log := logger(s.options.Env)
	c := listenerOf(s.options, s.at)
	c.V1, c.V2, c.Secret, c.BodyLimit, c.Logger = v1.New(v1.Config{Logger: log}), v2.New(v2.Config{Logger: log}), secret, s.body, log
	c.Relay = server.Relay{Socket: server.SocketPath(s.dirs.Data), Directory: s.options.Dir}
	if s.options.Sandbox {
		c.Relay.Owner = func(pid int) bool { return int64(pid) == s.seen.Load() } // another one is asked for its sandbox first
	}
	c.ToolProcess = func(pid int) bool { return int64(pid) == s.seen.Load() } // the owner's children are tools
	return server.New(c)
}

func noteTo(o cli.Options, text string) {
	if o.Note != nil {
		o.Note(text)
	}
}

// succession is how often a relay looks whether the owner is gone. A look opens a file and asks for its lock.
const succession = 250 * time.Millisecond

// succeed waits until the data is nobody's and takes it; nil when ctx ends before, or the relay.
func (s *service) succeed(ctx context.Context, served <-chan error) (*sqlite.Lease, error) {
	look := time.NewTicker(succession)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case err := <-served:
			return nil, err
		case <-look.C:
		}
		lease, err := sqlite.AcquireLease(s.dirs.Data, sqlite.Owner{Version: s.options.Version})
		held, ok := errors.AsType[*sqlite.Held](err)
		if !ok {
			return lease, err
		}
		if int64(held.Owner.PID) == s.owner.Load() {
			continue
		}
		if err := s.follow(ctx, held.Owner); err != nil {
			return nil, err
		}
	}
}

// follow takes another owner for the one that answers, if it keeps to the sandbox that was asked for. One that does not
// answer yet is asked at the next look.
func (s *service) follow(ctx context.Context, owner sqlite.Owner) error {
	if s.options.Sandbox {
		c, err := dial(ctx, owner, s.options.Options)
		if errors.Is(err, errUnbound) {
			return err
		}
		if err != nil {
			return nil
		}
		_ = c.Close(ctx) // it only asked
	}
	s.follows(ctx, owner.PID)
	return nil
}

func (s *service) follows(ctx context.Context, pid int) {
	s.seen.Store(int64(server.OwnerOf(ctx, server.SocketPath(s.dirs.Data))))
	s.owner.Store(int64(pid))
}

// claim returns the lease, or what the process that has it says of itself. It waits for one that starts, and for one
// that died: the kernel frees what it held when its last child between fork and exec is gone.
func claim(ctx context.Context, dirs config.Directories, o cli.Options) (lease *sqlite.Lease, owner api.Health, err error) {
	lease, c, err := reach(ctx, dirs, o)
	if c == nil {
		return lease, owner, err
	}
	defer c.Close(ctx) //nolint:errcheck // it only asked who is there
	owner, err = c.API.Health(ctx)
	return nil, owner, err
}

// listening says where the server answers.
func listening(s *server.Server, socket string, at *address) cli.Listening {
	l := cli.Listening{URL: s.URL(), Socket: socket, PID: os.Getpid(), Note: at.note}
	if u, err := url.Parse(l.URL); err == nil && at.mdns != "" {
		l.MDNS = net.JoinHostPort(at.mdns, u.Port())
	}
	return l
}
