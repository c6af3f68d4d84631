package engine

import (
	"fmt"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// An entry that was deleted and read again counts once, and as the newest one.
func TestForgottenHistory(t *testing.T) {
	var c Histories
	c.Get("ses_a")
	c.Delete("ses_a")
	a := c.Get("ses_a")
	for i := range maxSessions - 1 {
		c.Get(session.ID(fmt.Sprint("ses_", i)))
	}
	if len(c.m) != maxSessions || len(c.order) != maxSessions || c.m["ses_a"] != a {
		t.Errorf("the cache has %d entries and an order of %d", len(c.m), len(c.order))
	}
}
