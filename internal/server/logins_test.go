package server

import (
	"testing"
	"time"
)

// Logins end in time, and only so many last at once.
func TestLoginsAreBounded(t *testing.T) {
	var l logins
	now := time.Unix(1_700_000_000, 0)
	first := l.begin(now)
	if !l.lasts(first, now.Add(loginLife-time.Second)) || l.lasts(first, now.Add(loginLife)) || l.lasts("", now) || l.lasts("x", now) {
		t.Error("a login does not last as long as it should")
	}
	var words []string
	for i := range maxLogins {
		words = append(words, l.begin(now.Add(time.Duration(i+1)*time.Second)))
	}
	if l.lasts(first, now) {
		t.Error("the oldest of too many lasts")
	}
	for i, w := range words {
		if !l.lasts(w, now) {
			t.Errorf("login %d ended", i)
		}
	}
	if len(l.until) != maxLogins {
		t.Errorf("%d are kept", len(l.until))
	}
}
