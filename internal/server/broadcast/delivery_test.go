package broadcast

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Wait returns once all open streams have delivered up to the mark, and after maxWait at the latest.
func TestDeliveryTrackerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tracker DeliveryTracker
		tracker.Wait(t.Context(), eventlog.Mark{Position: 9, Notice: 9}) // without streams it returns at once
		a, b := tracker.Open(eventlog.Mark{Position: 4, Notice: 1}), tracker.Open(eventlog.Mark{Position: 9, Notice: 9})
		wait := func() <-chan struct{} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				tracker.Wait(t.Context(), eventlog.Mark{Position: 5, Notice: 2})
			}()
			return done
		}
		check := func(done <-chan struct{}, want bool, event string) {
			t.Helper()
			synctest.Wait()
			select {
			case <-done:
				if !want {
					t.Errorf("Wait returned before %s", event)
				}
			default:
				if want {
					t.Errorf("Wait did not return after %s", event)
				}
			}
		}
		first := wait()
		check(first, false, "the first delivery")
		tracker.RecordDelivery(a, eventlog.Update{Event: &session.Event{Position: 5}})
		check(first, false, "the notice")
		tracker.RecordDelivery(a, eventlog.Update{Fragment: &session.Fragment{}})
		tracker.RecordDelivery(a, eventlog.Update{Notice: &eventlog.Notice{Number: 2}})
		check(first, true, "the notice")
		c := tracker.Open(eventlog.Mark{})
		second := wait()
		check(second, false, "the third stream closed")
		tracker.Close(c)
		check(second, true, "the third stream closed")
		d := tracker.Open(eventlog.Mark{})
		third := wait()
		check(third, false, "the timeout")
		time.Sleep(maxWait)
		check(third, true, "the timeout")
		tracker.Close(a)
		tracker.Close(b)
		tracker.Close(d)
		if len(tracker.streams) != 0 {
			t.Errorf("%d closed streams are still tracked", len(tracker.streams))
		}
	})
}
