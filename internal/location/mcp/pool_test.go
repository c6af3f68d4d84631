package mcp_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// The next use of a closed location gets servers of its own at once.
func TestReopenedLocation(t *testing.T) {
	t.Parallel()
	servers := map[string]config.MCP{"good": local("good")}
	w := newWorld(t, mcp.Options{}, servers)
	w.connect("good")
	closed := w.set
	w.pool.CloseLocation(w.dir)
	w.open(servers)
	if w.set == closed {
		t.Error("the closed set is used again")
	}
	w.set.Start()
	w.awaitStatus("good", mcp.Connected)
}
