package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/plugin"
)

// newSlots returns a cache of slots that has no configuration.
func newSlots(limit int) *locationCache {
	return &locationCache{
		limit: limit, slots: map[string]*locationSlot{}, mcp: mcp.NewPool(mcp.Options{}),
		languages: &languages{opened: map[string]openLanguages{}},
		plugins:   &plugins{pool: plugin.NewPool(plugin.Options{})},
	}
}

// Of many places the ones that were used last are kept: one in use is not built anew because others were looked at.
func TestPlacesAreDroppedByUse(t *testing.T) {
	l := newSlots(maxLocations)
	use := func(dir string) *locationSlot {
		s := l.enterSlot(dir)
		l.leaveSlot(s)
		return s
	}
	hot := use("/hot")
	for i := range 500 {
		use(fmt.Sprint("/", i))
		if use("/hot") != hot {
			t.Fatalf("the place in use is gone after %d others", i+1)
		}
		if len(l.slots) > maxLocations {
			t.Fatalf("%d places are kept", len(l.slots))
		}
	}
	if l.slots["/499"] == nil || l.slots["/0"] != nil {
		t.Error("the newest is gone, or the oldest is kept")
	}
	hot.usedAt = time.Now().Add(-2 * locationIdleTime)
	use("/another")
	if l.slots["/hot"] != nil {
		t.Error("an unused location is not evicted")
	}
}
