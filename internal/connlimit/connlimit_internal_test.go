package connlimit

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestStrangerIsIdentified: the time in which a stranger is identified does not count against it; the time before and
// after does.
func TestStrangerIsIdentified(t *testing.T) {
	for _, suspended := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			pool := &pool{limit: 4}
			c := pool.add(near)
			resume := func() {}
			if suspended {
				resume = c.SuspendExpiry()
			}
			time.Sleep(2 * strangerTimeout) // of the bubble
			synctest.Wait()
			pool.mu.Lock()
			open := c.element != nil
			pool.mu.Unlock()
			if open != suspended {
				t.Errorf("suspended: %v, open: %v", suspended, open)
			}
			resume()
			if _, err := io.Copy(io.Discard, far); err != nil { // until it is closed
				t.Error(err)
			}
		})
	}
}
