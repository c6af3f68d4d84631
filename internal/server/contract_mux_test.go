package server_test

import (
	"net/http"
	"testing"

	"github.com/cairn-dev/cairn/internal/server"
)

// Slashes at the ends of a path say nothing, in both contracts, except where something would be deleted.
func TestSlashesAtTheEndsOfAPath(t *testing.T) {
	h := start(t, server.Config{})
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/global/health", 200},
		{"GET", "/global/health/", 200},
		{"GET", "//global/health", 200},
		{"GET", "//global/health//", 200},
		{"GET", "//api/session", 200},
		{"GET", "/api/session/?limit=1", 200},
		{"GET", "/session/%2F", 404},
		{"GET", "/global//health", 404},
		{"GET", "//", 404},
		{"GET", "//api/nonsense", 404},
		{"GET", "//x/../session", 404},
		{"DELETE", "/session/ses_0000000000000000000000000a/", 404},
	} {
		code, body := h.ask(t, c.method, c.path, bearer)
		if code != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.path, code, body)
		}
	}
}

// OPTIONS without a page's question names the methods of a path.
func TestOptionsNamesTheMethods(t *testing.T) {
	h := start(t, server.Config{})
	for path, want := range map[string]string{"/session": "GET, HEAD, POST", "/api/session": "GET, HEAD, POST"} {
		resp := h.fetch(t, http.MethodOptions, path, "", bearer)
		if resp.StatusCode != http.StatusNoContent || resp.Header.Get("Allow") != want {
			t.Errorf("%s: %s, %s", path, resp.Status, resp.Header.Get("Allow"))
		}
	}
	if code, body := h.ask(t, http.MethodOptions, "/nonsense", bearer); code != http.StatusNotFound {
		t.Errorf("%d %s", code, body)
	}
}
