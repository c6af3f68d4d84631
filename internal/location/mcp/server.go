package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// server is one server of a location: a goroutine that keeps it connected, and what it offers.
type server struct {
	set    *Set
	name   string
	config config.MCP
	login  auth.OAuthHandler // nil: requests need no login
	// of the location when the server was configured
	environment process.Environment
	limit       time.Duration
	calls       callTable
	refused     chan error // gets the LoginError of a call

	mu       sync.Mutex // guards the rest
	status   Status
	problem  string
	session  *sdk.ClientSession // nil unless connected
	offer    offer
	version  int                // counts changes of the offer
	attempt  chan struct{}      // closed after the first attempt since start or reconnect
	wake     chan struct{}      // has a value if the goroutine must not pause any longer
	cancel   context.CancelFunc // ends the goroutine; nil unless it runs
	ended    chan struct{}      // closed when the goroutine has ended
	wanted   bool               // a person connected a server that the configuration disables
	isClosed bool
}

// newServer returns a server of the set, whose mu is held.
func newServer(s *Set, name string, c config.MCP) *server {
	one := &server{
		set: s, name: name, config: c, environment: s.location.Environment, limit: s.location.Timeout,
		status: Disabled, attempt: make(chan struct{}), wake: make(chan struct{}, 1), refused: make(chan error, 1),
	}
	if s.pool.options.Login != nil && c.Type == "remote" {
		one.login = s.pool.options.Login(name, c)
	}
	return one
}

// isEnabled reports whether the configuration, or a person, wants the server.
func (s *server) isEnabled() bool { return s.wanted || s.config.Enabled == nil || *s.config.Enabled }

// start begins to keep the server connected, unless it is disabled.
func (s *server) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed || s.cancel != nil:
		return
	case !s.isEnabled():
		s.finishAttempt()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended, s.status, s.problem = cancel, make(chan struct{}), Connecting, ""
	go s.run(ctx, s.ended)
}

// finishAttempt lets those go on who wait for the first attempt. mu is held.
func (s *server) finishAttempt() {
	select {
	case <-s.attempt:
	default:
		close(s.attempt)
	}
}

// awaitAttempt waits for the end of the first attempt to connect.
func (s *server) awaitAttempt(ctx context.Context) {
	s.mu.Lock()
	attempt := s.attempt
	s.mu.Unlock()
	select {
	case <-attempt:
	case <-ctx.Done():
	}
}

// reconnect connects the server at once, also one that a person or the configuration has disabled.
func (s *server) reconnect() {
	s.stop()
	s.mu.Lock()
	s.wanted, s.attempt = true, make(chan struct{})
	s.mu.Unlock()
	s.start()
}

// disconnect ends the connection until reconnect.
func (s *server) disconnect() {
	s.stop()
	s.setState(Disabled, "")
}

// close ends the server for good.
func (s *server) close() {
	s.mu.Lock()
	s.isClosed = true
	s.mu.Unlock()
	s.stop()
}

// stop ends the goroutine, the connection and the process, and removes what the server offered.
func (s *server) stop() {
	s.mu.Lock()
	cancel, ended := s.cancel, s.ended
	s.cancel = nil
	s.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	<-ended
	s.mu.Lock()
	s.offer, s.version = offer{}, s.version+1
	s.finishAttempt() // calls that wait for it fail now
	s.mu.Unlock()
}

// setState changes the state and announces it.
func (s *server) setState(status Status, problem string) {
	s.mu.Lock()
	s.status, s.problem = status, problem
	s.mu.Unlock()
	s.set.pool.options.OnChange(s.set.directory, s.name, false)
}

// run connects the server, and again whenever the connection ends, with pauses that grow. It gives up when a login or a
// registration is needed.
func (s *server) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	var pause process.Backoff
	for ctx.Err() == nil {
		began := time.Now()
		wasConnected, err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		// Say what is wrong. What it offered stays while it is tried again, so that requests stay the same.
		status := classify(err)
		s.setState(status, describeError(err))
		s.set.pool.options.Log.Info("an MCP server is not connected", "server", s.name, "status", string(status),
			"error", describeError(err))
		if !wasConnected || status != Failed { // else a call may wait for the next attempt already
			s.mu.Lock()
			s.finishAttempt()
			s.mu.Unlock()
		}
		if status != Failed {
			<-ctx.Done()
			return
		}
		pause.Note(began, time.Now())
		select {
		case <-time.After(time.Until(pause.Next())):
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// LoginError reports that a server needs a login, or a registration of cairn by hand.
type LoginError struct {
	Status  Status // NeedsAuth or NeedsClientRegistration
	Message string // what to do
}

func (e *LoginError) Error() string { return e.Message }

// classify returns the state of a server after an error.
func classify(err error) Status {
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login.Status
	}
	return Failed
}

// maxProblem bounds the text of an error.
const maxProblem = 600

// describeError returns an error as one line for people, without control characters.
func describeError(err error) string {
	if err == nil {
		return "the connection ended"
	}
	text := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(err.Error(), "\uFFFD"), unicode.IsControl), " ")
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}

// serve connects the server and keeps what it offers current until the connection ends. It reports whether there was
// one.
func (s *server) serve(ctx context.Context) (wasConnected bool, err error) {
	defer func() { // what a server says must not end this process
		if p := recover(); p != nil {
			err = fmt.Errorf("its answer is invalid: %v", p)
		}
	}()
	// Connect within the timeout.
	begin, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	changed := make(chan struct{}, 1) // a list of the server has changed
	session, child, err := s.connect(ctx, begin, s.newSDKClient(changed))
	if child != nil {
		defer func() { _ = child.Close() }()
	}
	if err != nil {
		return false, s.explain(err, child)
	}
	defer closeSession(session)
	found, err := readOffer(begin, session, s.name)
	if err != nil {
		return false, s.explain(fmt.Errorf("list what it offers: %w", err), child)
	}
	s.setOffer(session, found, false)
	defer s.setSession(nil)
	s.mu.Lock()
	s.finishAttempt()
	s.mu.Unlock()
	cancel()
	// Follow it: read its lists again when it says that they changed, but not all the time.
	over, last := make(chan error, 1), time.Time{}
	go func() { over <- session.Wait() }()
	for {
		select {
		case err := <-s.refused: // a request needs a login
			return true, err
		case err := <-over:
			s.setSession(nil)
			return true, s.explain(err, child)
		case <-ctx.Done():
			return true, ctx.Err()
		case <-changed:
			select { // a server that floods with changes is read once a second
			case <-time.After(time.Until(last.Add(time.Second))):
			case <-ctx.Done():
				return true, ctx.Err()
			}
			again, cancel := context.WithTimeout(ctx, s.timeout())
			found, err := readOffer(again, session, s.name)
			cancel()
			if err != nil {
				return true, s.explain(fmt.Errorf("list what it offers: %w", err), child)
			}
			last = time.Now()
			s.setOffer(session, found, true)
		}
	}
}

// exitTime is how long a program takes to end after its output has ended.
const exitTime = 200 * time.Millisecond

// explain adds to an error what the server's program said, or its exit code.
func (s *server) explain(err error, child *process.Child) error {
	if _, ok := errors.AsType[*LoginError](err); ok {
		return err
	}
	isLate := errors.Is(err, context.DeadlineExceeded)
	if isLate {
		err = fmt.Errorf("it did not answer within %v", s.timeout())
	}
	if child == nil {
		return err
	}
	select {
	case <-child.Done():
		if code, _ := child.ExitStatus(); !isLate { // else it ended because the connection did
			err = fmt.Errorf("its program ended with exit code %d", code)
		}
	case <-time.After(exitTime):
	}
	if said := lastLines(child.ReadErrors(), 3); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-n):], " "))
}

// connect returns the session with the server and the process of a local one, also with an error. The connection lives
// as long as life; ctx bounds the connecting.
func (s *server) connect(
	life, ctx context.Context, client *sdk.Client,
) (*sdk.ClientSession, *process.Child, error) {
	if s.config.Type != "remote" {
		return s.connectLocal(ctx, client)
	}
	address, err := url.Parse(s.config.URL)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return nil, nil, fmt.Errorf("its address %q is not one of http or https", s.config.URL)
	}
	var unauthorized atomic.Bool
	session, err := connectFirst(ctx, client, s.listRemote(life, newClient(s.config, address.Host, &unauthorized)), unauthorized.Load)
	if err != nil && unauthorized.Load() {
		err = s.explainLogin(err)
	}
	return session, nil, err
}

// handshakeVersion is the newest version of the protocol that begins with initialize. Local servers are asked for it
// first: many end, or are silent, when a request of a later version comes before.
const handshakeVersion = "2025-11-25"

// connectLocal starts a local server and returns the session with it. A server that refuses initialize is started again
// and spoken to in the newest version.
func (s *server) connectLocal(ctx context.Context, client *sdk.Client) (*sdk.ClientSession, *process.Child, error) {
	for version := handshakeVersion; ; version = "" {
		child, err := s.startLocal()
		if err != nil {
			return nil, nil, err
		}
		transport := &sdk.IOTransport{Reader: newMessageReader(child.Out), Writer: child.In, MaxLineLength: maxMessage}
		session, err := client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if _, refused := errors.AsType[*jsonrpc.Error](err); !refused || version == "" {
			return session, child, err
		}
		_ = child.Close()
	}
}

// explainLogin returns what a person can do about a server that refused a request for want of a login.
func (s *server) explainLogin(err error) error {
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login
	}
	if s.login == nil {
		return &LoginError{NeedsAuth, "it refuses requests without a login; set its headers in the configuration"}
	}
	return &LoginError{NeedsAuth, "it needs a login: cairn mcp auth " + s.name}
}

// setOffer makes the server connected, with what it offers now. listed: it announced a change of a list.
func (s *server) setOffer(session *sdk.ClientSession, found offer, listed bool) {
	s.mu.Lock()
	s.session, s.offer, s.version = session, found, s.version+1
	s.status, s.problem = Connected, strings.Join(found.problems, "; ")
	s.mu.Unlock()
	s.set.pool.options.OnChange(s.set.directory, s.name, listed)
}

func (s *server) setSession(session *sdk.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = session
}

// state returns the state of the server.
func (s *server) state() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := State{Name: s.name, Status: s.status, Error: s.problem, Prompts: s.offer.prompts, Resources: s.offer.resources}
	for _, t := range s.offer.tools {
		out.Tools = append(out.Tools, t.info())
	}
	return out
}

var errNotConnected = errors.New("not connected")

// openSession returns the session of a connected server. It lets one that pauses after a failure connect at once, and
// waits for that attempt until ctx ends.
func (s *server) openSession(ctx context.Context) (*sdk.ClientSession, error) {
	s.mu.Lock()
	session, canWait := s.session, s.cancel != nil && s.status != NeedsAuth && s.status != NeedsClientRegistration
	if session == nil && canWait {
		select {
		case <-s.attempt: // it is over: ask for another one
			s.attempt = make(chan struct{})
			select {
			case s.wake <- struct{}{}:
			default:
			}
		default:
		}
	}
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	if canWait {
		s.awaitAttempt(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil {
		return nil, fmt.Errorf("the MCP server %s is %w (%s) %s", s.name, errNotConnected, s.status, s.problem)
	}
	return s.session, nil
}

// dropSession forgets a session that has ended, before the goroutine finds out.
func (s *server) dropSession(ended *sdk.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == ended {
		s.session = nil
	}
}
