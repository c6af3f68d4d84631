package host

import (
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/location/config"
)

// webfetch knows the port of this process and that of the announced server of the data directory.
func TestListServerPorts(t *testing.T) {
	l := &locationCache{dirs: config.Directories{Data: t.TempDir()}}
	l.port.Store(4998)
	if err := discovery.Write(l.dirs.Data, discovery.Server{PID: 1, URL: "http://127.0.0.1:4999"}); err != nil {
		t.Fatal(err)
	}
	if got := l.listServerPorts(); !slices.Contains(got, 4998) || !slices.Contains(got, 4999) {
		t.Errorf("listServerPorts = %v, want 4998 and 4999 in it", got)
	}
}
