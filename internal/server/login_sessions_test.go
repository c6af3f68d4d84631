package server

import (
	"testing"
	"time"
)

func isValid(l *loginSessions, word string, now time.Time) bool {
	_, ok := l.find(word, now)
	return ok
}

// Logins end in time, and only so many last at once.
func TestLoginsAreBounded(t *testing.T) {
	var l loginSessions
	now := time.Unix(1_700_000_000, 0)
	first := l.start(now, loginGrant{})
	if !isValid(&l, first, now.Add(loginLife-time.Second)) || isValid(&l, first, now.Add(loginLife)) ||
		isValid(&l, "", now) ||
		isValid(&l, "x", now) {
		t.Error("a login does not last as long as it should")
	}
	var words []string
	for i := range maxLogins {
		words = append(words, l.start(now.Add(time.Duration(i+1)*time.Second), loginGrant{}))
	}
	if isValid(&l, first, now) {
		t.Error("the oldest of too many lasts")
	}
	for i, w := range words {
		if !isValid(&l, w, now) {
			t.Errorf("login %d ended", i)
		}
	}
	if len(l.logins) != maxLogins {
		t.Errorf("%d are kept", len(l.logins))
	}
}
