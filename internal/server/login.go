package server

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
)

// The paths at which browsers log in and out. They belong to no contract.
const (
	loginPath  = "/login"
	logoutPath = "/logout"
)

const (
	loginBytes   = 8 << 10 // of a form
	loginTimeout = 10 * time.Second
)

// login lets browsers in: who posts the secret, or the configured user's password, gets a cookie that admits as they would.
// It stands behind host and origin, so that no page of others can log anybody in or out.
func (s *Server) login(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch {
	case r.URL.Path == loginPath && r.Method == http.MethodPost:
		s.logIn(w, r)
	case r.URL.Path == logoutPath && r.Method == http.MethodPost:
		s.logOut(w, r)
	case r.URL.Path == loginPath && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.auth(w, r, http.HandlerFunc(s.loggedIn))
	default:
		next.ServeHTTP(w, r)
	}
}

func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close") // its deadline is not for another request
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(loginTimeout))
	r.Body = http.MaxBytesReader(w, r.Body, loginBytes)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		s.fail(w, r, exchange.Unsupported(r.Header.Get("Content-Type")))
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
	if err := s.admitForm(r); err != nil {
		if !errors.Is(err, exchange.Unauthorized("")) {
			s.fail(w, r, err)
			return
		}
		s.askLogin(w, err.Error(), r.PostForm.Get("next"))
		return
	}
	word := s.logins.begin(time.Now())
	http.SetCookie(w, s.cookie(r, word, loginLife))
	http.Redirect(w, r, within(r.PostForm.Get("next")), http.StatusSeeOther)
}

// admitForm says whether who sent the form may come in.
func (s *Server) admitForm(r *http.Request) error {
	p, word := peerOf(r), r.PostForm.Get("password")
	user := base64.StdEncoding.EncodeToString([]byte(r.PostForm.Get("user") + ":" + word))
	switch {
	case !same(sha256.Sum256([]byte(word)), s.secret) && !s.basic(user):
		return s.guessed(r.Context(), exchange.Unauthorized("That is not right."))
	case p.unix && !p.sameUser:
		return errUser
	case s.peers.tool(p):
		return errTool
	default:
		return nil
	}
}

// logOut needs no credentials: what it ends is the login that the request bears.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request) {
	for _, c := range r.CookiesNamed(s.cookieName) {
		s.logins.end(c.Value)
	}
	http.SetCookie(w, s.cookie(r, "", -time.Second))
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// bearsLogin reports whether the request bears the cookie of a login that lasts. One that does not is no wrong guess: browsers
// keep cookies longer than servers live.
func (s *Server) bearsLogin(r *http.Request) bool {
	for _, c := range r.CookiesNamed(s.cookieName) {
		if s.logins.lasts(c.Value, time.Now()) {
			return true
		}
	}
	return false
}

func (s *Server) cookie(r *http.Request, word string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName, Value: word, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

// within returns where a browser goes once it is logged in: where it wanted to, if that is here.
func within(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") || u.Path == "/" || u.Path == loginPath || u.Path == logoutPath {
		return loginPath
	}
	return wanted(u)
}

// wanted is the path and query without what admits: no credential goes on into a redirect, a history or a Referer.
func wanted(u *url.URL) string {
	q := u.Query()
	q.Del("auth_token")
	q.Del("ticket")
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: q.Encode()}).String()
}
