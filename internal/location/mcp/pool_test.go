package mcp_test

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// A closed location starts no server, and the next use of its directory gets servers of its own at once.
func TestClosedLocationStartsNothing(t *testing.T) {
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
	w.pool.Close()
	w.open(servers)
	for _, set := range []*mcp.Set{closed, w.set} {
		set.Add(t.Context(), "late", local("good"))
		for _, s := range set.States() {
			if s.Name == "late" {
				t.Errorf("%s is %s", s.Name, s.Status)
			}
		}
	}
}
