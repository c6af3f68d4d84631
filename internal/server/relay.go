package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// relay forwards requests to the process that owns the data, over its socket. Several servers can run on one data
// directory: one owns the data, the others relay, so that each client can start a server of its own. The stages of
// the relay decide who may call. The owner sees a process of the same user, and refuses a relay that one of its
// tools started.
type relay struct {
	*httputil.ReverseProxy
	directory string
	fail      func(http.ResponseWriter, *http.Request, error)
}

// idleRelay is shorter than the idleTimeout of the owner, so that the relay does not write into a connection that is
// about to close.
const idleRelay = idleTimeout / 4

// newRelay returns a handler. It connects to the owner only when it is called.
func newRelay(c Relay, logger *slog.Logger, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	r := &relay{directory: c.Directory, fail: fail}
	r.ReverseProxy = &httputil.ReverseProxy{
		Transport: &ownerWatch{patience: ownerPatience, next: &http.Transport{
			// Another process may have taken the socket: requests go to the owner only.
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, pid, err := discovery.DialOwner(ctx, c.Socket)
				if err == nil && pid != 0 && c.Owner != nil && !c.Owner(pid) {
					return nil, errors.Join(errOwner, conn.Close())
				}
				return conn, err
			},
			MaxIdleConnsPerHost: 100, IdleConnTimeout: idleRelay, DisableCompression: true,
		}},
		Rewrite: r.rewrite, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) {
			if req.Context().Err() != nil {
				return // the client has disconnected
			}
			// By precedence: an error of the client's body, an untrusted socket, an owner that does not respond.
			untrusted, ok := errors.AsType[*session.Error](err)   // of discovery.DialOwner
			if bodyErr := httpio.BodyError(err); bodyErr != nil { // of the client's request
				err = bodyErr
			} else if ok {
				err = untrusted
			} else {
				err = session.Errorf(session.CodeUnavailable,
					"the process that owns the data does not respond; another takes over in a moment, so try again").Because(err)
			}
			setSecurityHeaders(w)
			fail(w, req, err)
		},
	}
	return r
}

var errOwner = errors.New("another process owns the data now")

// JoinOwner asks the owner at the socket to resume what earlier processes left unfinished, which a command that became
// the owner does not do by itself. It returns the owner's process id in this process's namespace, 0 if it is unknown.
// It is an error if the owner does not answer within ownerPatience. Every answer counts: an owner of an earlier version
// answers 404.
func JoinOwner(ctx context.Context, socket string) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	// Connect here, not in a goroutine of the transport, which can outlive the request and would set pid then.
	conn, pid, err := discovery.DialOwner(ctx, socket)
	if err != nil {
		return pid, err
	}
	defer conn.Close()
	t := &http.Transport{DisableKeepAlives: true}
	t.DialContext = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	// Send the request.
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/api/session/recover", nil)
	if err != nil {
		return pid, err
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return pid, err
	}
	return pid, resp.Body.Close()
}

// rewrite makes the request one of a program of the same user. The stages have checked the caller; the owner checks its
// scope once more and records it.
func (r *relay) rewrite(p *httputil.ProxyRequest) {
	out := p.Out
	out.URL.Scheme, out.URL.Host, out.Host = "http", "localhost", "localhost"
	for name := range out.Header {
		if name == "Origin" || name == "Authorization" || name == "Cookie" || strings.HasPrefix(name, "Sec-Fetch-") {
			out.Header.Del(name)
		}
	}
	out.Header.Set(httpio.HeaderCaller, caller.FromContext(p.In.Context()).String())
	if q := p.In.URL.Query(); q.Has("auth_token") {
		q.Del("auth_token")
		out.URL.RawQuery = q.Encode()
	} else {
		out.URL.RawQuery = p.In.URL.RawQuery
	}
	if out.Header.Get(httpio.HeaderDefaultDirectory) == "" {
		out.Header.Set(httpio.HeaderDefaultDirectory, url.PathEscape(r.directory))
	}
}

// ServeHTTP implements http.Handler. The responses of the owner have the security headers already.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, "/pty/") && strings.HasSuffix(req.URL.Path, "/connect-token") {
		r.fail(
			w,
			req,
			session.Errorf(
				session.CodeInvalid,
				"this server relays to another process, which would not accept a ticket issued here; log in instead",
			),
		)
		return
	}
	for name := range securityHeaders {
		w.Header().Del(name)
	}
	r.ReverseProxy.ServeHTTP(w, req)
}
