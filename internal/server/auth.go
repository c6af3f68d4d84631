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

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// authenticateRequest lets requests through that have valid credentials or come from the user by the word of the
// kernel.
func (s *Server) authenticateRequest(w http.ResponseWriter, r *http.Request, next http.Handler) {
	p := peerOf(r)
	if err := s.authorize(r, p); err != nil {
		unknown := errors.Is(err, httpio.NewUnauthorized(""))
		if unknown && wantsHTML(r) {
			s.writeLoginPage(w, "", r.URL.RequestURI())
			return
		}
		if unknown {
			w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
		}
		s.fail(w, r, err)
		return
	}
	next.ServeHTTP(w, r)
}

var (
	errTool = session.Errorf(
		session.CodeDenied,
		"requests from a tool's own processes are refused: an agent cannot act as its user",
	)
	errUser = session.Errorf(session.CodeDenied, "the socket belongs to another user")
)

func (s *Server) authorize(r *http.Request, p *peer) error {
	given, err := s.checkCredentials(r)
	switch {
	case err != nil:
		return s.delayGuess(r.Context(), err)
	case p.unix && !p.sameUser:
		return errUser
	case given || p.unix || s.config.V1.HasTicket(r) || (s.config.OpenLocal && s.config.Password == "" && p.loopback && browserHeader(r) == ""):
		if s.peers.isTool(p) {
			return errTool
		}
		return nil
	case s.config.Password != "" || !p.loopback:
		return httpio.NewUnauthorized("Authentication required")
	case browserHeader(r) != "":
		return httpio.NewUnauthorized(
			"Authentication required: the header " + browserHeader(r) + " shows that the request comes from a browser",
		)
	default:
		return s.authorizeLoopback(p)
	}
}

// authorizeLoopback decides about a loopback caller without credentials: it must be a process of the same user, and
// not one of a tool.
func (s *Server) authorizeLoopback(p *peer) error {
	switch s.peers.findIdentity(p) {
	case identityUser:
		return nil
	case identityTool:
		return errTool
	default:
		return httpio.NewUnauthorized(
			"Authentication required: the caller could not be identified as the server's own user; " +
				"send the secret of the server.json file, or start the server with --open-local",
		)
	}
}

// checkCredentials reports whether the request has valid credentials. Invalid ones are an error.
func (s *Server) checkCredentials(r *http.Request) (given bool, err error) {
	bad := httpio.NewUnauthorized("The credentials are wrong")
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return false, bad
	}
	if len(values) == 1 {
		kind, value, _ := strings.Cut(values[0], " ")
		switch strings.ToLower(kind) {
		case "bearer":
			if equalHash(sha256.Sum256([]byte(value)), s.secret) {
				return true, nil
			}
		case "basic":
			if s.checkBasic(value) {
				return true, nil
			}
		}
		return false, bad
	}
	if token := r.URL.Query()["auth_token"]; len(token) > 0 {
		if len(token) == 1 && s.checkBasic(token[0]) {
			return true, nil
		}
		return false, bad
	}
	return s.hasLoginCookie(r), nil
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
