package mcp

import (
	"context"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server gets time to end by itself only if it may work on a call: one that ends a command does not wait for.
func TestTimeToEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cut := func(s *server) {
		remove := s.calls.add(runningCall{done: ctx.Done()}, &sdk.CallToolParams{})
		cancel()
		remove()
	}
	for _, c := range []struct {
		name      string
		connected bool
		work      func(*server)
		want      time.Duration
	}{
		{"starts", false, func(*server) {}, 0},
		{"idle", true, func(*server) {}, idleGrace},
		{"works", true, func(s *server) { s.calls.add(runningCall{}, &sdk.CallToolParams{}) }, busyGrace},
		{"answered", true, func(s *server) { s.calls.add(runningCall{}, &sdk.CallToolParams{})() }, idleGrace},
		{"cut off", true, cut, busyGrace},
	} {
		s := &server{}
		c.work(s)
		if got := s.endGrace(c.connected); got != c.want {
			t.Errorf("%s: it has %v, want %v", c.name, got, c.want)
		}
	}
}
