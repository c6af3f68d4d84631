package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/connlimit"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// authenticateRequest refuses unknown callers. The context of other requests has the caller.
func (s *Server) authenticateRequest(w http.ResponseWriter, r *http.Request, next http.Handler) {
	c, err := s.findCaller(r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	ctx, stop := s.watchCredential(caller.NewContext(r.Context(), c), r, c.Token)
	defer stop()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// revokeDelay bounds how long a stream continues after its token was revoked or its login ended.
const revokeDelay = 2 * time.Second

// watchCredential returns a context that ends when the token or the login of the request's cookie ends. Without one it
// is ctx.
func (s *Server) watchCredential(ctx context.Context, r *http.Request, token string) (context.Context, func()) {
	isValid := func() bool { return s.config.Tokens.IsValid(token) }
	if token == "" {
		login := (&http.Request{Header: http.Header{"Cookie": r.Header["Cookie"]}}).WithContext(r.Context())
		isValid = func() bool { return s.findLogin(login).Kind != "" }
		if !isValid() {
			return ctx, func() {}
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(revokeDelay)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if !isValid() {
					cancel()
				}
			}
		}
	})
	return ctx, func() { cancel(); watch.Wait() }
}

// checkRole refuses requests whose caller may not do what the route does.
func (s *Server) checkRole(w http.ResponseWriter, r *http.Request, next http.Handler) {
	route := s.operations.Find(r)
	if err := caller.Require(r.Context(), route.Role, r.Method+" "+session.ClipText(r.URL.Path, 200)); err != nil {
		s.refuse(w, r, err)
		return
	}
	next.ServeHTTP(w, r)
}

// refuse answers a caller that may not call: why, in words and for programs, is in the header, because OpenCode's 401
// has no body in V1. A person gets the login page.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := httpio.PublicError(err)
	if e.Reason != "" {
		s.refusals.Count(e.Reason, r.RemoteAddr)
		w.Header().Set("X-Cairn-Error", e.Reason+": "+e.Message)
	}
	unknown := errors.Is(err, httpio.NewUnauthorized("", ""))
	if unknown && wantsHTML(r) {
		s.writeLoginPage(w, "", r.URL.RequestURI())
		return
	}
	if unknown {
		w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
	}
	if errors.Is(err, errUnread) { // the next connection is looked at again
		w.Header().Set("Connection", "close")
	}
	s.fail(w, r, err)
}

var (
	errTool = caller.Refuse(
		caller.ReasonTool,
		"requests from a tool's own processes are refused: an agent cannot act as its user",
	)
	errUnknown = caller.Refuse(
		caller.ReasonUnknown,
		"it is unknown whether the calling process belongs to a tool: it has exited, it has another group id "+
			"than the server, or the kernel does not show which process holds the connection; call from a program that keeps "+
			"running, without a group of its own (sg, newgrp, setgid), or through server.sock in the data "+
			"directory, which ssh -L forwards",
	)
	errUnread = session.Errorf(session.CodeUnavailable, "this server has no file descriptor left to find out which "+
		"process calls; close connections to it or raise its limit of open files (ulimit -n), and try again")
	errUser    = caller.Refuse(caller.ReasonUser, "the socket belongs to another user")
	errMissing = httpio.NewUnauthorized(caller.ReasonMissing, "Authentication required")
	errWrong   = httpio.NewUnauthorized(caller.ReasonWrong, "The credentials are wrong, expired or revoked")
)

// findCaller returns who makes the request and what it may do. The kernel knows processes of this machine; a credential
// identifies the others.
func (s *Server) findCaller(r *http.Request) (caller.Caller, error) {
	p := peer.FromRequest(r)
	c, err := s.readCredential(r)
	// What the request shows. A wrong credential is answered late, and a socket serves its user only.
	switch {
	case httpio.IsWrongCredential(err):
		return c, s.delayGuess(r.Context(), err)
	case err != nil:
		return c, err
	case p.Unix && !p.SameUser:
		return c, errUser
	case c.Kind == "" && !p.Unix:
		if err := s.checkBare(r, p); err != nil {
			return c, err
		}
	}
	// Who sends it, by the kernel: a tool of cairn is refused whatever it shows.
	switch s.findIdentity(r) {
	case peer.Tool:
		return c, errTool
	case peer.User:
		return knownCaller(c, r), nil
	case peer.Unread:
		return c, errUnread
	case peer.Unknown:
		if c.Kind == "" && s.config.OpenLocal {
			return openCaller(), nil
		}
		return c, errUnknown
	default:
		return s.remoteCaller(c)
	}
}

// findIdentity returns the identity of the peer of a request. A caller does not pay for the time that this takes, which
// grows with the connections that come at once.
func (s *Server) findIdentity(r *http.Request) peer.Identity {
	if c, ok := connlimit.FromContext(r.Context()); ok {
		defer c.SuspendExpiry()()
	}
	return s.peers.FindIdentity(peer.FromRequest(r))
}

// checkBare decides whether a request over TCP without a credential may be of a process of this machine.
func (s *Server) checkBare(r *http.Request, p *peer.Peer) error {
	switch {
	case s.config.Password != "" || !p.Loopback:
		return errMissing
	case browserHeader(r) != "":
		return httpio.NewUnauthorized(
			caller.ReasonMissing,
			"Authentication required: the header "+browserHeader(r)+" shows that the request comes from a browser",
		)
	default:
		return nil
	}
}

// knownCaller returns the caller for a process that the kernel identified. It needs no credential, and the secret gives
// it all scopes. A relay, which is such a process, says for whom it calls: that can only narrow the scope.
func knownCaller(c caller.Caller, r *http.Request) caller.Caller {
	switch c.Kind {
	case "":
		c = caller.Caller{Kind: caller.KindUser, Role: caller.Admin}
	case caller.KindSecret:
		c.Role = caller.Admin
	}
	return c.NarrowTo(r.Header.Get(httpio.HeaderCaller))
}

// openCaller is a caller without a credential on a server that was started with --open-local.
func openCaller() caller.Caller { return caller.Caller{Kind: caller.KindOpen, Role: caller.Prompt} }

// remoteCaller returns the caller for a peer that is not a process of this user on this machine: it is what its
// credential says.
func (s *Server) remoteCaller(c caller.Caller) (caller.Caller, error) {
	switch {
	case c.Kind == caller.KindUser:
		return c, errMissing // the ticket of a process of this machine, carried to another one
	case c.Kind != "":
		return c, nil
	case s.config.OpenLocal:
		return openCaller(), nil
	default:
		return c, httpio.NewUnauthorized(caller.ReasonUnknown,
			"Authentication required: the caller could not be identified as the server's own user; "+
				"send a token (cairn token create), or start the server with --open-local")
	}
}

// readCredential returns the caller that the request's credential names, a zero one without a credential. Invalid
// credentials are an error.
func (s *Server) readCredential(r *http.Request) (c caller.Caller, err error) {
	if c, ok := s.config.V1.TicketHolder(r); ok && (c.Token == "" || s.config.Tokens.IsValid(c.Token)) {
		return c, nil
	}
	values := r.Header.Values("Authorization")
	query := r.URL.Query()["auth_token"]
	switch {
	case len(values) > 1 || len(values) == 0 && len(query) > 1:
		return c, errWrong
	case len(values) == 1:
		kind, value, _ := strings.Cut(values[0], " ")
		return s.checkAuthorization(r.Context(), strings.ToLower(kind), value)
	case len(query) == 1 && !s.operations.Find(r).Stream:
		return c, httpio.NewUnauthorized(
			caller.ReasonQuery,
			"auth_token in the query is for event streams only; send the header Authorization, or for a terminal a ticket",
		)
	case len(query) == 1:
		return s.checkAuthorization(r.Context(), "basic", query[0])
	default:
		return s.findLogin(r), nil
	}
}

// checkAuthorization returns the caller of the credential in a header Authorization.
func (s *Server) checkAuthorization(ctx context.Context, scheme, value string) (caller.Caller, error) {
	switch scheme {
	case "bearer":
		if equalHash(sha256.Sum256([]byte(value)), s.secret) {
			return secretCaller(), nil
		}
		return s.checkToken(ctx, value)
	case "basic":
		if s.checkBasic(value) {
			return caller.Caller{Kind: caller.KindPassword, Role: caller.Admin}, nil
		}
		plain, err := base64.StdEncoding.DecodeString(value)
		if _, word, ok := strings.Cut(string(plain), ":"); ok && err == nil {
			return s.checkToken(ctx, word)
		}
	}
	return caller.Caller{}, errWrong
}

// secretCaller is who bears the secret. Every process of the user can read its file, also those of tools: without
// evidence of the kernel it does not show that the user calls.
func secretCaller() caller.Caller {
	return caller.Caller{Kind: caller.KindSecret, Role: caller.Prompt}
}

func (s *Server) checkToken(ctx context.Context, text string) (caller.Caller, error) {
	t, ok := s.config.Tokens.Verify(ctx, text)
	if !ok {
		return caller.Caller{}, errWrong
	}
	return caller.Caller{Kind: caller.KindToken, Token: t.ID, Role: t.Role}, nil
}

// checkBasic compares base64 of user:password. It accepts nothing if no password is configured.
func (s *Server) checkBasic(encoded string) bool {
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || s.config.Password == "" {
		return false
	}
	user, password, _ := strings.Cut(string(plain), ":")
	okUser := equalHash(sha256.Sum256([]byte(user)), sha256.Sum256([]byte(s.config.User)))
	okPassword := equalHash(sha256.Sum256([]byte(password)), sha256.Sum256([]byte(s.config.Password)))
	return okUser && okPassword
}

// equalHash compares in constant time. Hashing hides the lengths of the secrets.
func equalHash(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// delayGuess slows down callers that try credentials. It answers five attempts per second at once.
func (s *Server) delayGuess(ctx context.Context, err error) error {
	wait := s.guesses.reserve(time.Now())
	switch {
	case wait > maxGuessWait:
		return session.Errorf(session.CodeTooMany, "too many wrong credentials; wait a little")
	case wait > 0:
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return err
}

const (
	guessEvery   = 200 * time.Millisecond
	guessBurst   = 5
	maxGuessWait = 5 * time.Second
)

// limiter hands out slots at a steady rate after a burst.
type limiter struct {
	mu   sync.Mutex // guards slot
	slot time.Time  // when the next one is due
}

// reserve reserves the next slot and returns how long to wait for it. It reserves nothing if the wait would be too
// long.
func (l *limiter) reserve(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := now.Add(-guessBurst * guessEvery); l.slot.Before(oldest) {
		l.slot = oldest
	}
	wait := l.slot.Add(guessEvery).Sub(now)
	if wait > maxGuessWait {
		return wait
	}
	l.slot = l.slot.Add(guessEvery)
	return max(wait, 0)
}
