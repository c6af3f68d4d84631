package server

import (
	"net/http"
	"strings"
)

// contracts gives each request to the contract that its path belongs to.
type contracts struct{ v1, v2 http.Handler }

func (c contracts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isV2(r) {
		c.v2.ServeHTTP(w, r)
		return
	}
	c.v1.ServeHTTP(w, r)
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
