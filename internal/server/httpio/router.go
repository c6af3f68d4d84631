package httpio

import (
	"net/http"
	"path"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Router answers as Mux does, and answers unknown paths and methods through Fail. OPTIONS lists the methods of a
// path.
type Router struct {
	Mux  *http.ServeMux
	Fail func(w http.ResponseWriter, r *http.Request, err error)
}

// ServeHTTP implements http.Handler.
func (h Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := r.URL.Path; p == "" || p[0] != '/' || path.Clean(p) != p {
		h.Fail(w, r, session.NotFound("path", p))
		return
	}
	known, pattern := h.Mux.Handler(r)
	if pattern != "" {
		h.Mux.ServeHTTP(w, r)
		return
	}
	probe := &allowProbe{header: http.Header{}}
	known.ServeHTTP(probe, r)
	allow := probe.header.Get("Allow")
	if allow == "" {
		h.Fail(w, r, session.NotFound("path", r.URL.Path))
		return
	}
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	err := session.Errorf(session.CodeInvalid, "%s has no %s; it has %s", r.URL.Path, r.Method, allow)
	err.Kind = api.KindMethod
	h.Fail(w, r, err)
}

// allowProbe receives the mux's own response, of which only the Allow header is used.
type allowProbe struct{ header http.Header }

func (p *allowProbe) Header() http.Header         { return p.header }
func (p *allowProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *allowProbe) WriteHeader(int)             {}
