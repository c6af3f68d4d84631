package v1_test

import (
	"net/http"
	"strings"
	"testing"
)

// A directory that cannot be one is refused with what is wrong with it.
func TestDirectoriesThatAreNone(t *testing.T) {
	w := newWorld(t, "", nil)
	for directory, wrong := range map[string]string{
		"/a%00b": "NUL", "/a%FFb": "UTF-8",
		"/" + strings.Repeat("a", 5000): "too long",
	} {
		if a := w.ask(t, http.MethodGet, "/path?directory="+directory, ""); a.status != 400 ||
			!strings.Contains(a.body, wrong) {
			t.Errorf("%.20s: %d %s", directory, a.status, a.body)
		}
	}
}
