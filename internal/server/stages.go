package server

import (
	"errors"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/connlimit"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/telemetry"
	"github.com/cairn-dev/cairn/internal/tool"
)

// stage is one check of every request before its operation. It answers the request, or calls next.
type stage struct {
	name  string
	local bool // also for callers in this process
	run   func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler)
}

// listStages returns the stages in their order. The checks of host and origin come first, so that requests that a
// page tricked a browser into get no further. The checks of media type and body come last, so that the server reads
// nothing from unknown callers.
func listStages() []stage {
	return []stage{
		{"recover", true, (*Server).recoverPanic},
		{"log", true, (*Server).logRequest},
		{"trace", true, (*Server).readTrace},
		{"headers", false, (*Server).addSecurityHeaders},
		{"strangers", false, (*Server).closeStrangers},
		{"host", false, (*Server).checkHost},
		{"tool", false, (*Server).refuseTools},
		{"origin", false, (*Server).checkOrigin},
		{"login", false, (*Server).login},
		{"auth", false, (*Server).authenticateRequest},
		{"known", false, (*Server).keepKnown},
		{"role", false, (*Server).checkRole},
		{"media", false, (*Server).checkMedia},
		{"streams", false, (*Server).limitStreams},
		{"body", true, (*Server).limitBody},
		{"audit", true, (*Server).recordSettings},
	}
}

func (s *Server) newChain(h http.Handler) http.Handler {
	return s.wrapStages(h, func(stage) bool { return true })
}

func (s *Server) newLocalChain(h http.Handler) http.Handler {
	return s.wrapStages(h, func(st stage) bool { return st.local })
}

func (s *Server) wrapStages(h http.Handler, with func(stage) bool) http.Handler {
	for _, st := range slices.Backward(listStages()) {
		if !with(st) {
			continue
		}
		next := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { st.run(s, w, r, next) })
	}
	return h
}

// recoverPanic turns a panic of a handler into a response and a log line.
func (s *Server) recoverPanic(w http.ResponseWriter, r *http.Request, next http.Handler) {
	t := &responseRecorder{ResponseWriter: w}
	defer func() {
		p := recover()
		err, _ := p.(error)
		switch {
		case p == nil:
		case errors.Is(err, http.ErrAbortHandler):
			panic(p)
		default:
			s.logger.ErrorContext(r.Context(), "handler panicked",
				"method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if t.status != 0 {
				panic(http.ErrAbortHandler) // half an answer is out: cut the connection
			}
			s.fail(t, r, errPanic)
		}
	}()
	next.ServeHTTP(t, r)
}

var errPanic = errors.New("a handler panicked; the previous line has the stack")

// responseRecorder records the status and the size of a response.
type responseRecorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (t *responseRecorder) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *responseRecorder) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(p)
	t.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController through.
func (t *responseRecorder) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// logRequest logs the request and the response, without query and headers: both can contain secrets.
func (s *Server) logRequest(w http.ResponseWriter, r *http.Request, next http.Handler) {
	begun := time.Now()
	next.ServeHTTP(w, r)
	if t, ok := w.(*responseRecorder); ok {
		s.logger.DebugContext(r.Context(), "request",
			"method", r.Method, "path", r.URL.Path, "status", t.status, "bytes", t.bytes, "took", time.Since(begun))
	}
}

// readTrace keeps the trace that the client names in the context of the request.
func (s *Server) readTrace(w http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(w, telemetry.FromRequest(r))
}

// addSecurityHeaders tells browsers not to render or embed a response.
func (s *Server) addSecurityHeaders(w http.ResponseWriter, r *http.Request, next http.Handler) {
	setSecurityHeaders(w)
	next.ServeHTTP(w, r)
}

func setSecurityHeaders(w http.ResponseWriter) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
}

var securityHeaders = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"Cache-Control":                "no-store",
	"Vary":                         "Origin",
}

// refuseTools refuses requests that are marked as a tool's. To the kernel, those of this process and of a forwarded
// port are its user's.
func (s *Server) refuseTools(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if len(r.Header.Values(tool.RequestHeader)) > 0 {
		s.refusals.Count(caller.ReasonTool, r.RemoteAddr)
		s.fail(w, r, errTool)
		return
	}
	next.ServeHTTP(w, r)
}

// closeStrangers closes the connection after the answer unless an earlier request of it was authenticated.
func (s *Server) closeStrangers(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if c, ok := connlimit.FromContext(r.Context()); ok && !c.IsKnown() {
		w.Header().Set("Connection", "close")
	}
	next.ServeHTTP(w, r)
}

// keepKnown keeps the connection of an authenticated request open after the answer.
func (s *Server) keepKnown(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if c, ok := connlimit.FromContext(r.Context()); ok && !c.MakeKnown() {
		s.fail(w, r, session.Errorf(session.CodeUnavailable, "all connections of the server are in use; close some"))
		return
	}
	w.Header().Del("Connection")
	next.ServeHTTP(w, r)
}

// limitStreams bounds the event streams that a client has open at the same time.
func (s *Server) limitStreams(w http.ResponseWriter, r *http.Request, next http.Handler) {
	client := clientOf(r)
	if client == relayClient || !s.operations.Find(r).Stream {
		next.ServeHTTP(w, r)
		return
	}
	if !s.streams.add(client, s.config.Streams) {
		s.fail(w, r, session.Errorf(session.CodeTooMany, "this client has %d event streams open, as many as it may; "+
			"close some, or set limits.streams", s.config.Streams))
		return
	}
	defer s.streams.remove(client)
	next.ServeHTTP(w, r)
}

// checkMedia refuses changes with a body that is not declared as JSON: a browser sends other types without a
// preflight request.
func (s *Server) checkMedia(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isSafeMethod(r.Method) && !declaresJSON(r) {
		s.fail(w, r, httpio.NewUnsupportedMedia(r.Header.Get("Content-Type")))
		return
	}
	if how := r.Header.Get("Content-Encoding"); how != "" && how != "identity" {
		s.fail(w, r, httpio.NewUnsupportedEncoding(how))
		return
	}
	next.ServeHTTP(w, r)
}

func isSafeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// declaresJSON reports whether the body is declared as JSON, or is absent together with its type.
func declaresJSON(r *http.Request) bool {
	values := r.Header.Values("Content-Type")
	if len(values) == 0 {
		return r.ContentLength == 0 && len(r.TransferEncoding) == 0
	}
	kind, _, err := mime.ParseMediaType(strings.Join(values, ", "))
	return err == nil && kind == "application/json"
}

// recordSettings records requests that change settings, keys, terminals, projects or files before they have an effect;
// one that the contract then refuses is recorded too. The engine records approvals, rules and commands, because it
// knows what they allow. The entry has no body, which can contain keys. The owner records what a relay forwards.
func (s *Server) recordSettings(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if s.config.Relay.Socket == "" && !isSafeMethod(r.Method) && isRecorded(r.URL.Path, s.operations.Find(r).Role) {
		add := func() error {
			return s.config.Audit.AddEntry(r.Context(), audit.KindSettings, r.Method+" "+r.URL.Path)
		}
		err := add()
		for err != nil && s.config.MakeRoom != nil && isDeletion(r) && s.config.MakeRoom(err) {
			err = add()
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
	}
	next.ServeHTTP(w, r)
}

// isDeletion reports whether a request frees space.
func isDeletion(r *http.Request) bool {
	return r.Method == http.MethodDelete || strings.HasSuffix(r.URL.Path, "/storage/prune")
}

// isRecorded reports whether requests of an operation are in the audit log. A terminal is recorded when it is created.
func isRecorded(path string, needs caller.Role) bool {
	if needs == caller.Admin {
		return !strings.HasPrefix(path, "/pty/")
	}
	return needs == caller.Approve && (strings.HasPrefix(path, "/vcs/") || strings.HasPrefix(path, "/project/"))
}
