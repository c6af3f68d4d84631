package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
)

// loginSessions are the logins of browsers. They end with the process. The zero value is ready for use. It is safe
// for concurrent use.
type loginSessions struct {
	mu     sync.Mutex                       // guards logins
	logins map[[sha256.Size]byte]loginGrant // by the hash of the token
}

// loginGrant holds the rights of a login.
type loginGrant struct {
	role  caller.Role
	known bool // the kernel identified the browser as a process of the user
	until time.Time
}

const (
	loginLife = 7 * 24 * time.Hour
	maxLogins = 64 // beyond this, the login that expires first ends
)

// start starts a login and returns its token.
func (l *loginSessions) start(now time.Time, as loginGrant) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	word := hex.EncodeToString(b[:])
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logins == nil {
		l.logins = map[[sha256.Size]byte]loginGrant{}
	}
	if len(l.logins) >= maxLogins {
		l.dropOldest()
	}
	as.until = now.Add(loginLife)
	l.logins[sha256.Sum256([]byte(word))] = as
	return word
}

// dropOldest ends the login that expires first. mu is held.
func (l *loginSessions) dropOldest() {
	var first [sha256.Size]byte
	var end time.Time
	for k, as := range l.logins {
		if end.IsZero() || as.until.Before(end) {
			first, end = k, as.until
		}
	}
	delete(l.logins, first)
}

// find returns the valid login of a token.
func (l *loginSessions) find(word string, now time.Time) (loginGrant, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	as, ok := l.logins[sha256.Sum256([]byte(word))]
	return as, ok && now.Before(as.until)
}

func (l *loginSessions) remove(word string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.logins, sha256.Sum256([]byte(word)))
}
