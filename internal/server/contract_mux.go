package server

import (
	"net/http"
	"strings"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// contractMux passes each request to the contract of its path.
type contractMux struct{ v1, v2 http.Handler }

func (c contractMux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = operation.TrimSlashes(r)
	if isV2(r) {
		c.v2.ServeHTTP(w, r)
		return
	}
	c.v1.ServeHTTP(w, r)
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
