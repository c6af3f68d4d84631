package v1

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// An answer waits for all open streams, and for none of them for ever.
func TestAnswersFollowTheStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h handed
		h.await(t.Context(), eventlog.Mark{Position: 9, Notice: 9}) // there are none
		a, b := h.open(eventlog.Mark{Position: 4, Notice: 1}), h.open(eventlog.Mark{Position: 9, Notice: 9})
		answered := func() <-chan struct{} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.await(t.Context(), eventlog.Mark{Position: 5, Notice: 2})
			}()
			return done
		}
		is := func(done <-chan struct{}, want bool, what string) {
			t.Helper()
			synctest.Wait()
			select {
			case <-done:
				if !want {
					t.Error("answered before " + what)
				}
			default:
				if want {
					t.Error("not answered after " + what)
				}
			}
		}
		first := answered()
		is(first, false, "anything")
		h.note(a, eventlog.Update{Event: &session.Event{Position: 5}})
		is(first, false, "the notice")
		h.note(a, eventlog.Update{Fragment: &session.Fragment{}})
		h.note(a, eventlog.Update{Notice: &eventlog.Notice{Number: 2}})
		is(first, true, "the notice")
		c := h.open(eventlog.Mark{})
		second := answered()
		is(second, false, "the end of the third stream")
		h.close(c)
		is(second, true, "the end of the third stream")
		d := h.open(eventlog.Mark{})
		third := answered()
		is(third, false, "the bound")
		time.Sleep(handedWithin)
		is(third, true, "the bound")
		h.close(a)
		h.close(b)
		h.close(d)
		if len(h.streams) != 0 {
			t.Error("streams are kept")
		}
	})
}
