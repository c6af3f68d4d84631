package mcp

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// hangingTransport answers no request.
type hangingTransport struct{}

func (hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Lists of a location wait for a server that does not answer together as long as one of them, not each as long.
func TestAwaitAllWaitsOnceForAHangingServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{WrapTransport: func(http.RoundTripper) http.RoundTripper { return hangingTransport{} }})
		defer p.Close()
		s := p.Open(Location{
			Directory: t.TempDir(), Timeout: time.Minute,
			Servers: map[string]config.MCP{"hang": {Type: "remote", URL: "http://hang.example"}},
		})
		for _, want := range []time.Duration{attemptTime, 0} {
			began := time.Now()
			s.AwaitAll(t.Context())
			if got := time.Since(began); got != want {
				t.Errorf("AwaitAll took %v, want %v", got, want)
			}
		}
	})
}
