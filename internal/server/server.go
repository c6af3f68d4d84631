// Package server is the listener: it decides who may call, and within which bounds. The packages v1 and v2 serve the
// calls, one for each contract: paths below /api belong to V2, all others to V1. Each contract encodes its own errors.
//
// The server listens on a unix socket of mode 0600 and on TCP. The same stages run before every operation, in the order
// of the table in stages.go. They promise:
//
//   - Every request has a known caller: the same user by the word of the kernel (unix socket, or loopback TCP without
//     browser headers), a bearer of the installation's secret, the user with the configured password, or a browser that
//     has logged in with one of the two. All other requests are refused, except with OpenLocal, which trusts every
//     caller on this machine. Browsers get a login page.
//   - Requests of processes that a tool started are refused, so that an agent cannot act as its user.
//   - Host and Origin are compared exactly, before any other stage reads the request.
//   - Headers, bodies, connections and waits are bounded. An error of the client is 4xx with a tagged body.
//   - An address that other machines can reach needs a password; without one the server does not start.
//
// The log contains neither secrets nor query strings.
package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/access/accesstoken"
	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/connlimit"
	"github.com/cairn-dev/cairn/internal/server/operation"
	v1 "github.com/cairn-dev/cairn/internal/server/v1"
	v2 "github.com/cairn-dev/cairn/internal/server/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// Config of a Server. V1, V2 and Secret are required, and a Socket or TCP.
type Config struct {
	V1     *v1.API
	V2     *v2.API
	Relay  Relay             // who else answers
	Secret string            // which processes of the user can read; see LoadSecret
	Tokens *accesstoken.File // nil has none
	Audit  *audit.Trail      // nil records nothing
	// MakeRoom frees space for a request that deletes, if the cause is a full disk, and reports whether it did; nil frees
	// nothing.
	MakeRoom func(cause error) bool

	Socket   string // path of the unix socket; "" has none
	TCP      bool
	Hostname string       // "127.0.0.1" by default
	Port     int          // 0: DefaultPort if it is free, else any
	Listener net.Listener // with TCP: open already, in place of Hostname and Port; the Server closes it

	User      string   // of Password; "opencode" by default
	Password  string   // once set, TCP callers need it or the Secret
	OpenLocal bool     // loopback callers need nothing: for systems where the kernel does not tell who they are
	Origins   []string // origins of pages that may call, exactly as browsers send them
	// the name under which the local network finds us, such as MDNSDomain; "" does not announce anything
	MDNS string

	BodyLimit   int64 // bytes of one body; 16 MiB by default. All at once have three times that
	Streams     int   // event streams of one client at the same time; 64 by default
	Connections int   // of known callers, over TCP and over the socket; 2,000 each by default
	// ToolProcess reports whether the requests of a process are a tool's; nil: the marks in /proc decide alone.
	ToolProcess func(pid int) bool
	Logger      *slog.Logger
}

// Relay forwards all requests that the stages let through to another process. V1 and V2 then only encode errors.
// Tickets for terminals do not work over a relay, because only the owner knows them.
type Relay struct {
	Socket    string // of the process that owns the data; "" relays nothing
	Directory string // the location of requests that name none
	// Owner reports whether the process that holds the socket may answer; nil allows every process.
	Owner func(pid int) bool
}

// DefaultPort is the port that OpenCode's clients try first.
const DefaultPort = 4096

// The bounds of requests and connections.
const (
	defaultBody        = 16 << 20
	defaultConnections = 2000
	defaultStreams     = 64
	headerBytes        = 64 << 10
	headerTimeout      = 5 * time.Second
	bodyTimeout        = 2 * time.Minute
	idleTimeout        = 2 * time.Minute
	grace              = 5 * time.Second
)

// Server listens. Use New, Listen, Serve and Shutdown in this order.
type Server struct {
	config     Config
	logger     *slog.Logger
	secret     [sha256.Size]byte
	peers      peer.Resolver
	guesses    limiter
	refusals   *audit.RefusalCounter
	logins     loginSessions
	bodies     *bodyBudget
	streams    streamCounter
	http       *http.Server
	routes     http.Handler
	operations operation.Routes
	// Set by Listen, before anybody is answered.
	origins    *originPolicy
	cookieName string // one for each port: browsers show a host's cookies to all its ports

	mu        sync.Mutex // guards the rest
	listeners []net.Listener
	port      int
	withdraw  func() // ends the announcement; nil without one
}

// New checks the configuration. It opens nothing.
func New(c Config) (*Server, error) {
	// Fill in the defaults.
	if c.Hostname == "" {
		c.Hostname = "127.0.0.1"
	}
	if c.User == "" {
		c.User = "opencode"
	}
	if c.BodyLimit == 0 {
		c.BodyLimit = defaultBody
	}
	if c.Streams == 0 {
		c.Streams = defaultStreams
	}
	if c.Connections == 0 {
		c.Connections = defaultConnections
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	// Refuse what is unsafe, contradictory or without effect.
	switch {
	case len(c.Secret) < 32:
		return nil, errors.New("a server needs a secret of at least 32 characters")
	case c.TCP && !IsLoopback(c.Hostname) && c.Password == "":
		return nil, session.Errorf(session.CodeInvalid,
			"%s can be reached from other machines, so a password is needed: "+
				"set CAIRN_SERVER_PASSWORD, or listen on 127.0.0.1", c.Hostname).
			At("hostname")
	case c.MDNS != "" && (!c.TCP || IsLoopback(c.Hostname)):
		return nil, session.Errorf(session.CodeInvalid,
			"no other machine reaches %s; to announce the server, listen on 0.0.0.0", c.Hostname).
			At("mdns")
	case !c.TCP && c.Socket == "":
		return nil, errors.New("a server needs a socket or TCP")
	}
	if c.MDNS != "" {
		if err := checkMDNSName(c.MDNS); err != nil {
			return nil, err
		}
	}
	s := &Server{
		config: c, logger: c.Logger, secret: sha256.Sum256([]byte(c.Secret)), peers: peer.NewResolver(c.ToolProcess),
		bodies:   newBodyBudget(c.BodyLimit),
		refusals: &audit.RefusalCounter{Trail: c.Audit, Logger: c.Logger},
	}
	// The role that paths without an operation require.
	unknown := caller.Read // answers 404
	if c.Relay.Socket != "" {
		unknown = caller.Admin // an owner of another version may have more routes
	}
	s.operations = operation.NewRoutes(unknown, slices.Concat(v1.ListOperations(), v2.ListOperations())...)
	// Serve the contracts here, or relay every request to the owner.
	if s.routes = (contractMux{v1: c.V1.NewHandler(), v2: c.V2.NewHandler()}); c.Relay.Socket != "" {
		s.routes = newRelay(c.Relay, c.Logger, s.fail)
	}
	s.http = &http.Server{
		Handler: s.newChain(
			s.routes,
		), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
		ConnContext: withConnection, ErrorLog: slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// withConnection stores a connection and its peer in the context of its requests.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	ctx = connlimit.WithConn(ctx, c)
	if l, ok := c.(*connlimit.Conn); ok {
		c = l.Conn
	}
	return peer.NewContext(ctx, c)
}

// IsLoopback reports whether only this machine can reach the host.
func IsLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Listen opens the sockets. Callers wait until Serve answers them.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The socket, then TCP, which may be the listener that this process had as a relay.
	if s.config.Socket != "" {
		l, err := listenUnix(ctx, s.config.Socket)
		if err != nil {
			return err
		}
		s.listeners = append(s.listeners, connlimit.NewListener(l, s.config.Connections))
	}
	if s.config.TCP {
		l, err := s.config.Listener, error(nil)
		if l == nil {
			l, err = listenTCP(ctx, s.config.Hostname, s.config.Port)
		}
		if err != nil {
			s.closeListeners()
			return err
		}
		s.port = l.Addr().(*net.TCPAddr).Port
		s.listeners = append(s.listeners, connlimit.NewListener(l, s.config.Connections))
	}
	// What depends on the port: allowed origins, the cookie and the announcement.
	var err error
	s.origins, err = newOriginPolicy(s.config, s.port)
	s.cookieName = "cairn-" + strconv.Itoa(s.port)
	if err == nil && s.config.MDNS != "" {
		s.withdraw, err = announceMDNS(s.config.MDNS, s.config.Hostname, s.port, s.logger)
	}
	if err != nil {
		s.closeListeners()
	}
	return err
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close() // nothing was promised on it
	}
	s.listeners = nil
}

func listenTCP(ctx context.Context, host string, port int) (net.Listener, error) {
	// Listen on IPv4, as for the default, and not on the address that the resolver prefers.
	if host == "localhost" {
		host = "127.0.0.1"
	}
	var lc net.ListenConfig
	try := func(p int) (net.Listener, error) {
		return lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(p)))
	}
	// A port that was chosen is required.
	if port != 0 {
		l, err := try(port)
		if err != nil {
			why := err
			if errno, ok := errors.AsType[syscall.Errno](err); ok {
				why = errno // without the address, which the message names
			}
			return nil, session.Errorf(session.CodeUnavailable, "cannot listen on %s port %d: %v; choose another --port",
				host, port, why).
				Because(err)
		}
		return l, nil
	}
	// Prefer the default port; if it is in use, let the system choose one.
	if l, err := try(DefaultPort); err == nil {
		return l, nil
	}
	l, err := try(0)
	if err != nil {
		return nil, session.Errorf(session.CodeUnavailable, "cannot listen on %s", host).Because(err)
	}
	return l, nil
}

// DuplicateListener returns a second handle of the TCP listener, which stays open after Shutdown: connections wait
// for the next server of the port. It returns nil without TCP, and on systems that cannot duplicate listeners.
func (s *Server) DuplicateListener() net.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		tcp, ok := l.(*connlimit.Listener).Listener.(*net.TCPListener)
		if !ok {
			continue
		}
		f, err := tcp.File()
		if err != nil {
			return nil
		}
		defer f.Close() //nolint:errcheck // the listener has its own
		if kept, err := net.FileListener(f); err == nil {
			return kept
		}
	}
	return nil
}

// URL returns where TCP callers reach the server, "" without TCP. It is known after Listen.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.config.TCP || s.port == 0 {
		return ""
	}
	host := s.config.Hostname
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(s.port))
}

// HasClients reports whether an authenticated caller has a connection open.
func (s *Server) HasClients() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.listeners, func(l net.Listener) bool {
		return l.(*connlimit.Listener).HasKnown()
	})
}

// Serve answers until Shutdown. It returns nil then.
func (s *Server) Serve() error {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	errs := make(chan error, len(listeners)) // one answer of each
	for _, l := range listeners {
		go func() { errs <- s.http.Serve(l) }() // ends with its listener, which Shutdown closes
	}
	var first error
	for range listeners {
		if err := <-errs; !errors.Is(err, http.ErrServerClosed) && first == nil {
			first = fmt.Errorf("serve: %w", err)
			_ = s.http.Close() // the others end too
		}
	}
	return first
}

// Shutdown ends streams and waits, lets other requests finish, and returns within five seconds or when ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	s.mu.Lock()
	if s.withdraw != nil {
		s.withdraw()
	}
	s.mu.Unlock()
	s.refusals.Flush()
	s.config.V1.Close()
	s.config.V2.Close()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeListeners()
	return err
}

// NewLocalHandler returns the operations for callers in this process, without the checks of who calls and from
// where.
func (s *Server) NewLocalHandler() http.Handler { return s.newLocalChain(s.routes) }

// NewExtensionHandler returns the operations for plugins of this process, with the checks of what they may do. The context
// of a request has the caller.
func (s *Server) NewExtensionHandler() http.Handler {
	checks := []string{"role", "media", "streams"}
	return s.wrapStages(s.routes, func(st stage) bool { return st.local || slices.Contains(checks, st.name) })
}
