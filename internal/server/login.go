package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/peer"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// The paths to log in and out. They belong to no contract.
const (
	loginPath  = "/login"
	logoutPath = "/logout"
)

const (
	loginBytes   = 8 << 10 // of a form
	loginTimeout = 10 * time.Second
)

// login lets browsers log in: the secret, or the user and password, are exchanged for a cookie. The stage comes
// after the checks of host and origin, so that pages of other sites can neither log in nor out.
func (s *Server) login(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch {
	case r.URL.Path == loginPath && r.Method == http.MethodPost:
		s.handleLogin(w, r)
	case r.URL.Path == logoutPath && r.Method == http.MethodPost:
		s.handleLogout(w, r)
	case r.URL.Path == loginPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.authenticateRequest(w, r, http.HandlerFunc(s.writeLoggedInPage))
	default:
		next.ServeHTTP(w, r)
	}
}

func (s *Server) handleLogin(w http.ResponseWriter, r *http.Request) {
	// Bound the time and the size of the form before it is read.
	w.Header().Set("Connection", "close") // the deadline below must not apply to a further request
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(loginTimeout))
	r.Body = http.MaxBytesReader(w, r.Body, loginBytes)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		kind != "application/x-www-form-urlencoded" {
		s.fail(w, r, httpio.NewUnsupportedMedia(r.Header.Get("Content-Type")))
		return
	}
	if err := r.ParseForm(); err != nil {
		code := session.CodeInvalid
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			code = session.CodeTooLarge
		}
		s.fail(w, r, session.Errorf(code, "the form cannot be read, or has more than %d bytes", loginBytes))
		return
	}
	// A login that the audit trail cannot record is refused. Wrong credentials count as refusals.
	as, err := s.checkLoginForm(r)
	if err == nil {
		err = s.config.Audit.AddEntry(loginContext(r.Context(), as), audit.KindLogin, "login from "+r.RemoteAddr)
	} else if e := httpio.PublicError(err); e.Reason != "" {
		s.refusals.Count(e.Reason, r.RemoteAddr)
	}
	// After wrong credentials the page is shown again; other errors have the usual response.
	if err != nil {
		if !errors.Is(err, httpio.NewUnauthorized("", "")) {
			s.fail(w, r, err)
			return
		}
		s.writeLoginPage(w, err.Error(), r.PostForm.Get("next"))
		return
	}
	// Start the login. The redirect stays on this server.
	word := s.logins.start(time.Now(), as)
	http.SetCookie(w, s.newLoginCookie(r, word, loginLife))
	http.Redirect(w, r, localTarget(r.PostForm.Get("next")), http.StatusSeeOther)
}

// checkLoginForm checks the credentials and the sender of a login form, and returns what the login is worth.
func (s *Server) checkLoginForm(r *http.Request) (loginGrant, error) {
	p, word := peer.FromRequest(r), r.PostForm.Get("password")
	user := base64.StdEncoding.EncodeToString([]byte(r.PostForm.Get("user") + ":" + word))
	as := loginGrant{role: caller.Admin}
	switch {
	case s.checkBasic(user):
	case equalHash(sha256.Sum256([]byte(word)), s.secret):
		as.role = secretCaller().Role
	default:
		return as, s.delayGuess(r.Context(), httpio.NewUnauthorized(caller.ReasonWrong, "The credentials are wrong."))
	}
	if p.Unix && !p.SameUser {
		return as, errUser
	}
	switch s.findIdentity(r) {
	case peer.Tool:
		return as, errTool
	case peer.Unread:
		return as, errUnread
	case peer.Unknown:
		return as, errUnknown
	case peer.User:
		as.role, as.known = caller.Admin, true
	}
	return as, nil
}

// loginContext returns a context of the caller that has logged in.
func loginContext(ctx context.Context, as loginGrant) context.Context {
	return caller.NewContext(ctx, caller.Caller{Kind: caller.KindLogin, Role: as.role})
}

// handleLogout needs no credentials: it ends the login that the request carries.
func (s *Server) handleLogout(w http.ResponseWriter, r *http.Request) {
	for _, c := range r.CookiesNamed(s.cookieName) {
		as, ok := s.logins.find(c.Value, time.Now())
		s.logins.remove(c.Value)
		if !ok {
			continue
		}
		ctx := loginContext(r.Context(), as)
		if err := s.config.Audit.AddEntry(ctx, audit.KindLogin, "logout from "+r.RemoteAddr); err != nil {
			s.logger.Error("a logout could not be recorded", "error", err)
		}
	}
	http.SetCookie(w, s.newLoginCookie(r, "", -time.Second))
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// findLogin returns the caller whose login's cookie the request carries, a zero one without. An expired cookie is no
// wrong guess: browsers keep cookies longer than servers run. The cookie of a login of this machine, which tools could
// read in the browser's files, counts for known processes only.
func (s *Server) findLogin(r *http.Request) caller.Caller {
	for _, c := range r.CookiesNamed(s.cookieName) {
		as, ok := s.logins.find(c.Value, time.Now())
		if ok && (!as.known || s.findIdentity(r) == peer.User) {
			return caller.Caller{Kind: caller.KindLogin, Role: as.role}
		}
	}
	return caller.Caller{}
}

func (s *Server) newLoginCookie(r *http.Request, word string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName, Value: word, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

// localTarget returns where to redirect a browser after the login: its target if that is on this server.
func localTarget(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == "/" ||
		u.Path == loginPath ||
		u.Path == logoutPath {
		return loginPath
	}
	return withoutCredentials(u)
}

// withoutCredentials returns the path and the query without credentials, which must not reach a redirect, the
// history of the browser or a Referer.
func withoutCredentials(u *url.URL) string {
	q := u.Query()
	q.Del("auth_token")
	q.Del("ticket")
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}).String()
}
