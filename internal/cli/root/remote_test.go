package root

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
)

// A server that is not cairn's is refused, whatever it answers, with what to use instead.
func TestNotACairnServer(t *testing.T) {
	for name, answer := range map[string]string{
		"OpenCode":   `{"healthy":true}`,
		"a web page": `<!doctype html>`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }),
			)
			defer server.Close()
			s := &shell{world: newWorld(t, `{"turns":[{"steps":[{"text":"Hello."}]}]}`)}
			for _, args := range [][]string{{"run", "--attach", server.URL, "hello"}, {"attach", server.URL}} {
				out := s.run(args...)
				if out.code != int(cli.ExitFailure) ||
					!strings.Contains(out.stderr.String(), "is not a cairn server") ||
					!strings.Contains(out.stderr.String(), "opencode attach "+server.URL) {
					t.Errorf("%v: exit %d, stderr %q", args, out.code, &out.stderr)
				}
			}
		})
	}
}

// A server that wants a password says which flag gives it.
func TestServerNeedsPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"_tag":"UnauthorizedError","message":"log in"}`)
	}))
	defer server.Close()
	s := &shell{world: newWorld(t, `{"turns":[{"steps":[{"text":"Hello."}]}]}`)}
	out := s.run("run", "--attach", server.URL, "hello")
	if out.code != int(cli.ExitFailure) || !strings.Contains(out.stderr.String(), "--password") {
		t.Errorf("exit %d, stderr %q", out.code, &out.stderr)
	}
}
