package httpio

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
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
	if !isCleanPath(r.URL.EscapedPath()) {
		h.Fail(w, r, session.NotFound("path", r.URL.Path))
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

// isCleanPath reports whether the path begins with a slash and has neither empty segments nor . and .., also encoded
// ones. An encoded slash is part of its segment, such as a name that is an address.
func isCleanPath(escaped string) bool {
	if escaped == "" || path.Clean(escaped) != escaped {
		return false
	}
	for segment := range strings.SplitSeq(escaped, "/") {
		name, err := url.PathUnescape(segment)
		if err != nil || name == "." || name == ".." {
			return false
		}
	}
	return escaped[0] == '/'
}

// allowProbe receives the mux's own response, of which only the Allow header is used.
type allowProbe struct{ header http.Header }

func (p *allowProbe) Header() http.Header         { return p.header }
func (p *allowProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *allowProbe) WriteHeader(int)             {}
