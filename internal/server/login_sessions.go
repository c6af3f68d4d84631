package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// loginSessions are the logins of browsers. They end with the process. The zero value is ready for use. It is safe
// for concurrent use.
type loginSessions struct {
	mu     sync.Mutex // guards until
	expiry map[[sha256.Size]byte]time.Time
}

const (
	loginLife = 7 * 24 * time.Hour
	maxLogins = 64 // beyond this, the login that expires first ends
)

// start starts a login and returns its token.
func (l *loginSessions) start(now time.Time) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	word := hex.EncodeToString(b[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiry == nil {
		l.expiry = map[[sha256.Size]byte]time.Time{}
	}
	if len(l.expiry) >= maxLogins {
		l.dropOldest()
	}
	l.expiry[sha256.Sum256([]byte(word))] = now.Add(loginLife)
	return word
}

// dropOldest ends the login that expires first. mu is held.
func (l *loginSessions) dropOldest() {
	var first [sha256.Size]byte
	var end time.Time
	for k, until := range l.expiry {
		if end.IsZero() || until.Before(end) {
			first, end = k, until
		}
	}
	delete(l.expiry, first)
}

func (l *loginSessions) isValid(word string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.expiry[sha256.Sum256([]byte(word))]
	return ok && now.Before(until)
}

func (l *loginSessions) remove(word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.expiry, sha256.Sum256([]byte(word)))
}
