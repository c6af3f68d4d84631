package ask

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestWaitersAreListedOldestFirst(t *testing.T) {
	var ws waiters
	for _, n := range []int{3, 1, 4, 2} {
		ws.add(&waiter{ask: session.PendingAsk{ID: session.AskID(fmt.Sprint("per_", n))}, record: "p"})
	}
	var got []session.AskID
	for _, w := range ws.listOthers("p", "per_2") {
		got = append(got, w.ask.ID)
	}
	if want := []session.AskID{"per_1", "per_3", "per_4"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
