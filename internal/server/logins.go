package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// logins are the browsers that are logged in. They end with the process. The zero value is ready; safe for concurrent use.
type logins struct {
	mu    sync.Mutex // guards until
	until map[[sha256.Size]byte]time.Time
}

const (
	loginLife = 7 * 24 * time.Hour
	maxLogins = 64 // beyond, the one that ends first has to log in again
)

// begin returns the word of a new login.
func (l *logins) begin(now time.Time) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	word := hex.EncodeToString(b[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[[sha256.Size]byte]time.Time{}
	}
	if len(l.until) >= maxLogins {
		l.dropFirst()
	}
	l.until[sha256.Sum256([]byte(word))] = now.Add(loginLife)
	return word
}

// dropFirst ends the login that would end first. mu is held.
func (l *logins) dropFirst() {
	var first [sha256.Size]byte
	var end time.Time
	for k, until := range l.until {
		if end.IsZero() || until.Before(end) {
			first, end = k, until
		}
	}
	delete(l.until, first)
}

func (l *logins) lasts(word string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.until[sha256.Sum256([]byte(word))]
	return ok && now.Before(until)
}

func (l *logins) end(word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.until, sha256.Sum256([]byte(word)))
}
