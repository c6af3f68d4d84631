package server

import (
	"net/http"
	"net/url"
	"strings"
)

// contractMux passes each request to the contract of its path.
type contractMux struct{ v1, v2 http.Handler }

func (c contractMux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = trimSlashes(r)
	if isV2(r) {
		c.v2.ServeHTTP(w, r)
		return
	}
	c.v1.ServeHTTP(w, r)
}

// trimSlashes removes slashes from both ends of the path, as OpenCode does: people join addresses that end with a
// slash and paths that begin with one. The stages saw the original path. Requests to delete must name their target
// exactly, because a truncated path would name more than the full one.
func trimSlashes(r *http.Request) *http.Request {
	was := r.URL.EscapedPath()
	path := "/" + strings.Trim(was, "/")
	if path == was || r.Method == http.MethodDelete {
		return r
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return r // the contract answers 404
	}
	u := *r.URL
	u.Path, u.RawPath = plain, path
	clean := *r
	clean.URL = &u
	return &clean
}

func isV2(r *http.Request) bool {
	return r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/")
}

// fail answers with the error in the form of the contract of the path.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if isV2(r) {
		s.config.V2.Fail(w, r, err)
		return
	}
	s.config.V1.Fail(w, r, err)
}
