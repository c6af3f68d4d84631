package host

import (
	"fmt"
	"testing"
	"time"
)

// Of many places the ones that were used last are kept: one in use is not built anew because others were looked at.
func TestPlacesAreDroppedByUse(t *testing.T) {
	l := &locations{places: map[string]*slot{}}
	use := func(dir string) *slot {
		s := l.slot(dir)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used = time.Now()
		return s
	}
	hot := use("/hot")
	for i := range 500 {
		use(fmt.Sprint("/", i))
		if use("/hot") != hot {
			t.Fatalf("the place in use is gone after %d others", i+1)
		}
		if len(l.places) > maxPlaces {
			t.Fatalf("%d places are kept", len(l.places))
		}
	}
	if l.places["/499"] == nil || l.places["/0"] != nil {
		t.Error("the newest is gone, or the oldest is kept")
	}
	hot.used = time.Now().Add(-2 * placeIdle)
	l.slot("/another")
	if l.places["/hot"] != nil {
		t.Error("a place is kept that nobody used for long")
	}
}
