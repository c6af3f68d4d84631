package server

import (
	"net/http"
	"net/url"
	"strings"
)

// contractMux gives each request to the contract that its path belongs to.
type contractMux struct{ v1, v2 http.Handler }

func (c contractMux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = trimSlashes(r)
	if isV2(r) {
		c.v2.ServeHTTP(w, r)
		return
	}
	c.v1.ServeHTTP(w, r)
}

// trimSlashes takes slashes from the path's ends, as OpenCode does: people put addresses together of one that ends with a slash
// and a path that begins with one. The stages before saw the path as it came. What is to be deleted must be named exactly:
// a path that ends before its last name would mean more than that.
func trimSlashes(r *http.Request) *http.Request {
	was := r.URL.EscapedPath()
	path := "/" + strings.Trim(was, "/")
	if path == was || r.Method == http.MethodDelete {
		return r
	}
	plain, err := url.PathUnescape(path)
	if err != nil {
		return r // the contract tells that there is nothing
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

// fail tells the error as the contract of the request's path does.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if isV2(r) {
		s.config.V2.Fail(w, r, err)
		return
	}
	s.config.V1.Fail(w, r, err)
}
