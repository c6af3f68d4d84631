package server

import (
	"errors"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/server/exchange"
)

// stage is one thing that happens to every request before it reaches its operation. It answers itself, or calls next.
type stage struct {
	name  string
	local bool // also for callers in this process
	run   func(s *Server, w http.ResponseWriter, r *http.Request, next http.Handler)
}

// stages is the order. Host and origin come first, so that nothing looks at a request that a page has tricked a
// browser into; media and body come last, so that nobody unknown makes us read.
func stages() []stage {
	return []stage{
		{"recover", true, (*Server).recover},
		{"log", true, (*Server).log},
		{"headers", false, (*Server).headers},
		{"host", false, (*Server).host},
		{"origin", false, (*Server).origin},
		{"login", false, (*Server).login},
		{"auth", false, (*Server).auth},
		{"media", false, (*Server).media},
		{"body", true, (*Server).body},
	}
}

func (s *Server) chain(h http.Handler) http.Handler {
	return s.wrap(h, func(stage) bool { return true })
}

func (s *Server) localChain(h http.Handler) http.Handler {
	return s.wrap(h, func(st stage) bool { return st.local })
}

func (s *Server) wrap(h http.Handler, with func(stage) bool) http.Handler {
	for _, st := range slices.Backward(stages()) {
		if !with(st) {
			continue
		}
		next := h
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { st.run(s, w, r, next) })
	}
	return h
}

// recover turns a panic of ours into an answer and a log line.
func (s *Server) recover(w http.ResponseWriter, r *http.Request, next http.Handler) {
	t := &tracked{ResponseWriter: w}
	defer func() {
		p := recover()
		err, _ := p.(error)
		switch {
		case p == nil:
		case errors.Is(err, http.ErrAbortHandler):
			panic(p)
		default:
			s.logger.ErrorContext(r.Context(), "handler panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			if t.status != 0 {
				panic(http.ErrAbortHandler) // half an answer is out: cut the connection
			}
			s.fail(t, r, errPanic)
		}
	}()
	next.ServeHTTP(t, r)
}

var errPanic = errors.New("a handler panicked; the line before says where")

// tracked knows what was answered.
type tracked struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (t *tracked) WriteHeader(status int) {
	if t.status == 0 {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracked) Write(p []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(p)
	t.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController through.
func (t *tracked) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// log says what was asked and answered: no query and no header, for both can hold secrets.
func (s *Server) log(w http.ResponseWriter, r *http.Request, next http.Handler) {
	begun := time.Now()
	next.ServeHTTP(w, r)
	if t, ok := w.(*tracked); ok {
		s.logger.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", t.status, "bytes", t.bytes, "took", time.Since(begun))
	}
}

// headers tells browsers to make nothing of an answer (spec/guarantees S5).
func (s *Server) headers(w http.ResponseWriter, r *http.Request, next http.Handler) {
	arm(w)
	next.ServeHTTP(w, r)
}

func arm(w http.ResponseWriter) {
	for name, value := range armour {
		w.Header().Set(name, value)
	}
}

var armour = map[string]string{
	"X-Content-Type-Options":       "nosniff",
	"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"Cache-Control":                "no-store",
	"Vary":                         "Origin",
}

// media refuses changes with a body that is not declared as JSON: a browser sends anything else to anybody without
// asking (spec/guarantees S4).
func (s *Server) media(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !safe(r.Method) && !declared(r) {
		s.fail(w, r, exchange.Unsupported(r.Header.Get("Content-Type")))
		return
	}
	if how := r.Header.Get("Content-Encoding"); how != "" && how != "identity" {
		s.fail(w, r, exchange.Encoded(how))
		return
	}
	next.ServeHTTP(w, r)
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// declared reports whether the body is JSON, or there is none and nothing said of it.
func declared(r *http.Request) bool {
	values := r.Header.Values("Content-Type")
	if len(values) == 0 {
		return r.ContentLength == 0 && len(r.TransferEncoding) == 0
	}
	kind, _, err := mime.ParseMediaType(strings.Join(values, ", "))
	return err == nil && kind == "application/json"
}
