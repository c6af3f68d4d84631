package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server gets time to end by itself only if it may work on a call: one that ends a command does not wait for.
func TestTimeToEnd(t *testing.T) {
	t.Parallel()
	cut := func(s *server) {
		ctx, cancel := context.WithCancel(context.Background())
		remove := s.calls.add(runningCall{done: ctx.Done()}, &sdk.CallToolParams{})
		cancel()
		remove()
		remove() // as callTool does
	}
	answer := func(s *server) { s.calls.add(runningCall{}, &sdk.CallToolParams{})() }
	for _, c := range []struct {
		name      string
		connected bool
		work      func(*server)
		want      time.Duration
	}{
		{"starts", false, func(*server) {}, 0},
		{"idle", true, func(*server) {}, idleGrace},
		{"works", true, func(s *server) { s.calls.add(runningCall{}, &sdk.CallToolParams{}) }, busyGrace},
		{"answered", true, answer, idleGrace},
		{"cut off", true, cut, busyGrace},
		{"cut off after an answer", true, func(s *server) { answer(s); cut(s) }, busyGrace},
		{"cut off, and an earlier one answered", true, func(s *server) {
			answerEarlier := s.calls.add(runningCall{}, &sdk.CallToolParams{})
			cut(s)
			answerEarlier()
		}, busyGrace},
		{"cut off, and a later one answered", true, func(s *server) { cut(s); answer(s) }, idleGrace},
		{"cut off for a while", true, func(s *server) { cut(s); time.Sleep(cutTime - time.Second) }, busyGrace},
		{"cut off long ago", true, func(s *server) { cut(s); time.Sleep(cutTime) }, idleGrace},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			c.work(s)
			if got := s.endGrace(c.connected); got != c.want {
				t.Errorf("%s: it has %v, want %v", c.name, got, c.want)
			}
		})
	}
}
