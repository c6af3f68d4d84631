package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// A parameter that is given twice is refused by its name, as in OpenCode. Unknown parameters are ignored.
func TestDuplicateParameters(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "x"})
	for path, name := range map[string]string{
		"/session?directory=/a&directory=/b": "directory", "/session?limit=1&limit=1": "limit",
		"/find/file?query=a&query=b": "query",
		"/file?path=.&path=a.txt":    "path", "/api/session?limit=1&limit=2": "limit",
		"/api/location?location[directory]=/a&location%5Bdirectory%5D=/b": "location[directory]",
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 400 ||
			!strings.Contains(a.body, name+" is given 2 times") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/file?path=.&x=1&x=2", "/api/session?x=1&x=2"} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
