package web

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/tool"
)

// MarkRequests returns a transport whose requests say that the agent makes them: a server of cairn refuses them, behind
// whatever name, forwarded port or redirect.
func MarkRequests(t http.RoundTripper) http.RoundTripper { return markedTransport{t} }

type markedTransport struct{ http.RoundTripper }

// RoundTrip sends a request with the mark.
func (t markedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(tool.RequestHeader, "1")
	return t.RoundTripper.RoundTrip(r)
}
