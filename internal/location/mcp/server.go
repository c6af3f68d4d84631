package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
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
	isAsking    atomic.Bool // a question of the server waits for an answer

	lifecycle sync.Mutex // held while the goroutine is started or ended, so that there is one at most

	mu      sync.Mutex // guards the rest
	status  Status
	problem string
	conn    *connection // nil unless connected
	offer   offer
	version int // counts changes of the offer
	// isExpected reports that the tools are offered and no attempt to connect has failed since the server was there: a
	// call of them connects it.
	isExpected bool
	cached     cachedOffer        // how the last attempt ended, also one of the process before
	attempt    chan struct{}      // closed after the first attempt since start, reconnect or requestAttempt
	begun      time.Time          // when that attempt began
	wake       chan struct{}      // has a value if the goroutine must not pause any longer
	cancel     context.CancelFunc // ends the goroutine; nil unless it runs
	ended      chan struct{}      // closed when the goroutine has ended
	choice     *bool              // whether a person connected or disconnected it; nil: the configuration decides
	stamp      string             // Options.LoginStamp at the last attempt
	isClosed   bool
}

// connection is a connection with a server.
type connection struct {
	*sdk.ClientSession
	child   *process.Child // the program of a local server, else nil
	refused chan error     // gets the LoginError of a call
	suspect chan struct{}  // has a value if a call got no answer, so that the server may hang
}

// newServer returns a server of the set, whose mu is held.
func newServer(s *Set, name string, c config.MCP) *server {
	one := &server{
		set: s, name: name, config: c, environment: s.location.Environment, limit: s.location.Timeout,
		status: Disabled, attempt: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	if s.pool.options.Login != nil && c.Type == "remote" {
		one.login = s.pool.options.Login(name, c)
	}
	return one
}

// isEnabled reports whether a person, else the configuration, wants the server. mu is held.
func (s *server) isEnabled() bool {
	if s.choice != nil {
		return *s.choice
	}
	return s.config.Enabled == nil || *s.config.Enabled
}

// start begins to keep the server connected, unless it is disabled or runs already.
func (s *server) start() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.startRun()
}

// startRun starts the goroutine. lifecycle is held.
func (s *server) startRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.cancel != nil:
		return
	case s.isClosed || !s.isEnabled():
		s.finishAttempt()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended, s.status, s.problem = cancel, make(chan struct{}), Connecting, ""
	s.begun = time.Now()
	s.recallOffer()
	go s.run(ctx, s.ended)
}

// finishAttempt ends the waits of awaitAttempt. mu is held.
func (s *server) finishAttempt() {
	select {
	case <-s.attempt:
	default:
		close(s.attempt)
	}
}

// requestAttempt makes the goroutine connect at once if it pauses after an attempt. mu is held.
func (s *server) requestAttempt() {
	select {
	case <-s.attempt:
		s.attempt, s.begun = make(chan struct{}), time.Now()
		select {
		case s.wake <- struct{}{}:
		default:
		}
	default: // the attempt is being made
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

// awaitAttemptWithin is awaitAttempt, at most until limit after the beginning of the attempt.
func (s *server) awaitAttemptWithin(ctx context.Context, limit time.Duration) {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun.IsZero() { // it begins now
		begun = time.Now()
	}
	ctx, cancel := context.WithDeadline(ctx, begun.Add(limit))
	defer cancel()
	s.awaitAttempt(ctx)
}

// reconnect connects the server at once, also one that a person or the configuration has disabled.
func (s *server) reconnect() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.stopRun()
	s.choose(true)
	s.mu.Lock()
	s.attempt = make(chan struct{})
	s.mu.Unlock()
	s.startRun()
}

// disconnect ends the connection until reconnect.
func (s *server) disconnect() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.stopRun()
	s.choose(false)
	s.setState(Disabled, "")
}

func (s *server) choose(connected bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choice = &connected
}

// close ends the server for good.
func (s *server) close() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.mu.Lock()
	s.isClosed = true
	s.mu.Unlock()
	s.stopRun()
}

// stopRun ends the goroutine, the connection and the process, and removes what the server offered. lifecycle is held.
func (s *server) stopRun() {
	s.mu.Lock()
	cancel, ended := s.cancel, s.ended
	s.mu.Unlock()
	if cancel != nil {
		cancel()
		<-ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.offer, s.version, s.isExpected = nil, offer{}, s.version+1, false
	s.finishAttempt() // calls that wait for it fail now
}

// setState changes the state and announces it.
func (s *server) setState(status Status, problem string) {
	s.mu.Lock()
	s.status, s.problem = status, problem
	s.mu.Unlock()
	s.set.pool.options.OnChange(s.set.directory, s.name, false)
}

// run connects the server, and again whenever the connection ends, with pauses that grow. If a login or a registration is
// needed, it pauses until retryLogin, reconnect or close.
func (s *server) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	var pause process.Backoff
	wasConnected := false
	for ctx.Err() == nil {
		s.noteStamp()
		connected, err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		status := classify(err)
		wasConnected = wasConnected || !connected.IsZero()
		if connected.IsZero() {
			s.noteFailure(status, describeError(err), wasConnected)
		}
		// Announce the state.
		s.setState(status, describeError(err))
		s.set.pool.options.Log.Info("an MCP server is not connected", "server", s.name, "status", string(status),
			"error", describeError(err))
		if connected.IsZero() || status != Failed { // else a call may wait for the next attempt already
			s.mu.Lock()
			s.finishAttempt()
			s.mu.Unlock()
		}
		// Pause. Only a connection counts as life, not a long attempt.
		var retry <-chan time.Time
		if now := time.Now(); status == Failed {
			if connected.IsZero() {
				connected = now
			}
			pause.Note(connected, now)
			retry = time.After(time.Until(pause.Next()))
		}
		select {
		case <-retry:
		case <-s.wake:
		case <-ctx.Done():
		}
	}
}

// noteFailure notes that an attempt to connect failed. The offer of a server that was connected in this process stays, so
// that requests stay the same; that of another one, which is of a process before, goes.
func (s *server) noteFailure(status Status, problem string, wasConnected bool) {
	s.mu.Lock()
	s.isExpected = false
	if !wasConnected {
		s.offer, s.version = offer{}, s.version+1
	}
	s.mu.Unlock()
	s.cacheOutcome(newCachedFailure(s.config, status, problem))
}

// noteStamp notes the state of the stored logins before an attempt.
func (s *server) noteStamp() {
	stamp := s.set.pool.options.LoginStamp()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamp = stamp
}

// retryLogin makes a server that waits for a login connect again if the stored logins have changed since its last
// attempt: another process may have logged in.
func (s *server) retryLogin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.status == NeedsAuth || s.status == NeedsClientRegistration) && s.stamp != s.set.pool.options.LoginStamp() {
		s.status, s.problem = Connecting, ""
		s.requestAttempt()
	}
}

// serve connects the server and keeps what it offers current until the connection ends. It returns when the connection
// was there; the zero time means never.
func (s *server) serve(ctx context.Context) (connected time.Time, err error) {
	defer func() { // an answer of a server must not end this process
		if p := recover(); p != nil {
			err = fmt.Errorf("its answer is invalid: %v", p)
		}
	}()
	// Connect within the timeout.
	begin, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	changed := make(chan struct{}, 1) // has a value if a list of the server has changed
	opened, child, err := s.connect(begin, s.newSDKClient(changed))
	if child != nil {
		defer func() { child.CloseWithin(s.endGrace(opened != nil)) }()
	}
	switch {
	case err != nil && ctx.Err() != nil: // it is ended, which needs no explanation
		return connected, ctx.Err()
	case err != nil:
		return connected, s.explain(err, child)
	}
	defer func() { closeSession(opened, s.endGrace(true)) }()
	found, err := readOffer(begin, opened, s.name)
	if err != nil {
		return connected, s.explain(fmt.Errorf("list what it offers: %w", err), child)
	}
	cancel()
	// Offer it, and follow the connection.
	conn := &connection{opened, child, make(chan error, 1), make(chan struct{}, 1)}
	defer s.dropConnection(conn)
	s.setOffer(conn, found, false)
	s.mu.Lock()
	s.finishAttempt()
	s.mu.Unlock()
	connected = time.Now()
	return connected, s.follow(ctx, conn, changed)
}

// How long a server has to end by itself: one that may work on a call, and one that does not.
const (
	busyGrace = 2 * time.Second
	idleGrace = 200 * time.Millisecond
)

// endGrace returns how long a server has to end by itself. The end of a command does not wait for one that starts.
func (s *server) endGrace(connected bool) time.Duration {
	switch {
	case !connected:
		return 0
	case s.calls.mayHaveWork():
		return busyGrace
	default:
		return idleGrace
	}
}

// follow reads the lists of a server again when it announces changes of them, at most once a second. It returns when the
// connection, or the program of a local server, has ended, a request needs a login, or the server does not answer a ping
// after a call without an answer.
func (s *server) follow(ctx context.Context, conn *connection, changed <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx) // ends the ping
	var pings sync.WaitGroup
	defer pings.Wait()
	defer cancel()
	suspect, pinged := conn.suspect, make(chan error, 1) // suspect is nil during a ping
	over, last := make(chan error, 1), time.Time{}
	go func() { over <- conn.Wait() }() // the caller closes the session
	var exited <-chan struct{}
	if conn.child != nil {
		exited = conn.child.Done()
	}
	for {
		select {
		case err := <-conn.refused:
			return err
		case err := <-over:
			s.dropConnection(conn)
			return s.explain(err, conn.child)
		case <-suspect:
			suspect = nil
			pings.Go(func() { pinged <- conn.checkAlive(ctx, min(pingTime, s.timeout())) })
		case err := <-pinged:
			suspect = conn.suspect
			if err != nil && ctx.Err() == nil {
				s.dropConnection(conn)
				return err
			}
		case <-exited: // the rest of its output may have answers; a process of its own may hold it open
			select {
			case <-over:
			case <-time.After(exitTime):
			}
			s.dropConnection(conn)
			return s.explain(nil, conn.child)
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			select {
			case <-time.After(time.Until(last.Add(time.Second))):
			case <-ctx.Done():
				return ctx.Err()
			}
			again, cancel := context.WithTimeout(ctx, s.timeout())
			found, err := readOffer(again, conn.ClientSession, s.name)
			cancel()
			if err != nil {
				return s.explain(fmt.Errorf("list what it offers: %w", err), conn.child)
			}
			last = time.Now()
			s.setOffer(conn, found, true)
		}
	}
}

// setOffer makes the server connected, with what it offers now. listed: it announced a change of a list, which is passed
// on if there is one.
func (s *server) setOffer(conn *connection, found offer, listed bool) {
	s.mu.Lock()
	isChanged := !reflect.DeepEqual(s.offer, found)
	if isChanged {
		s.offer, s.version = found, s.version+1
	}
	s.conn, s.status, s.problem, s.isExpected = conn, Connected, strings.Join(found.problems, "; "), true
	s.mu.Unlock()
	s.cacheOutcome(newCachedOffer(s.config, found))
	if isChanged || !listed {
		s.set.pool.options.OnChange(s.set.directory, s.name, listed)
	}
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

// openSession returns the connection with a server. It makes one that pauses after a failure connect at once, and waits
// for that attempt until ctx ends.
func (s *server) openSession(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	conn, canWait := s.conn, s.cancel != nil && s.status != NeedsAuth && s.status != NeedsClientRegistration
	if conn == nil && canWait {
		s.requestAttempt()
	}
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	if canWait {
		s.awaitAttempt(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, fmt.Errorf("the MCP server %s is %w (%s)", s.name, errNotConnected, strings.Trim(string(s.status)+": "+s.problem, ": "))
	}
	return s.conn, nil
}

// dropConnection forgets a connection that has ended, also before the goroutine finds out.
func (s *server) dropConnection(ended *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == ended {
		s.conn = nil
	}
}
