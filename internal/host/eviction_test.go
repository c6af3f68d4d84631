package host

import (
	"fmt"
	"testing"
	"time"
)

// Of many places the ones that were used last are kept: one in use is not built anew because others were looked at.
func TestPlacesAreDroppedByUse(t *testing.T) {
	l := &locationCache{limit: maxLocations, slots: map[string]*locationSlot{}}
	use := func(dir string) *locationSlot {
		s := l.findSlot(dir)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.usedAt = time.Now()
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
	l.findSlot("/another")
	if l.slots["/hot"] != nil {
		t.Error("an unused location is not evicted")
	}
}
