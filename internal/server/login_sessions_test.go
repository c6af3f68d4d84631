package server

import (
	"testing"
	"time"
)

// Logins end in time, and only so many last at once.
func TestLoginsAreBounded(t *testing.T) {
	var l loginSessions
	now := time.Unix(1_700_000_000, 0)
	first := l.start(now)
	if !l.isValid(first, now.Add(loginLife-time.Second)) || l.isValid(first, now.Add(loginLife)) ||
		l.isValid("", now) ||
		l.isValid("x", now) {
		t.Error("a login does not last as long as it should")
	}
	var words []string
	for i := range maxLogins {
		words = append(words, l.start(now.Add(time.Duration(i+1)*time.Second)))
	}
	if l.isValid(first, now) {
		t.Error("the oldest of too many lasts")
	}
	for i, w := range words {
		if !l.isValid(w, now) {
			t.Errorf("login %d ended", i)
		}
	}
	if len(l.expiry) != maxLogins {
		t.Errorf("%d are kept", len(l.expiry))
	}
}
