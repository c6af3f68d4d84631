// Package publish keeps the shares of sessions: where a session is published, until when, and the secret that withdraws
// it. A session is shown by cairn itself, which reads it when somebody looks (package sharepage), or sent to a server
// that speaks OpenCode's protocol of shares.
//
// A share is recorded before its server hears of it, and outlives its session, until the server has shown that the
// share is gone. What is sent has no recognised secrets.
package share

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Share is a published session, or one that is to be published or withdrawn.
type Share struct {
	ID        string     `json:"id"` // random; in the address of a session that cairn shows itself
	SessionID session.ID `json:"sessionID"`
	URL       string     `json:"url,omitzero"` // "" until it is published
	Auto      bool       `json:"auto,omitzero"`
	Created   int64      `json:"created"` // milliseconds, as all times
	Expires   int64      `json:"expires,omitzero"`
	// RevokedAt is since when the share is to be gone. Until the server has shown that, it stays recorded.
	RevokedAt int64 `json:"withdrawn,omitzero"`

	// NotFoundSince is since when the server answers that there is no such share, 0 if it does not.
	NotFoundSince int64 `json:"absent,omitzero"`

	// Target is the address of the server, "" if cairn shows the session. Remote and Secret are the server's.
	Target string `json:"target,omitzero"`
	RemoteID string `json:"remote,omitzero"` // "" until the server has answered
	Secret string `json:"secret,omitzero"`
	// SyncedSeq is the seq of the session up to which the server has it, -1 if it has nothing.
	SyncedSeq int64 `json:"synced,omitzero"`

	// Cut is when a request with content was last cut off, which the server may still work on.
	CutAt int64 `json:"cut,omitzero"`

	// Failure is why the last attempt failed, Failed the number of attempts in a row that did, and Next the earliest time
	// of the next one.
	Failure string `json:"failure,omitzero"`
	Attempts int    `json:"failed,omitzero"`
	NextAttempt int64  `json:"next,omitzero"`
}

// IsActive reports whether people can read the session at the time.
func (s *Share) IsActive(now time.Time) bool {
	return s.RevokedAt == 0 && s.URL != "" && (s.Expires == 0 || now.UnixMilli() < s.Expires)
}

// isRemote reports whether a server has the share, or may have it.
func (s *Share) isRemote() bool { return s.Target != "" }

// newID returns 128 random bits, which nobody guesses.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// The bounds of attempts at a server.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Hour
	// revokeRetryLimit is how long a withdrawal that fails is tried. Then the share stays in the list.
	revokeRetryLimit = 30 * 24 * time.Hour
	// notFoundDelay is how long a server has to answer that there is no such share until that is believed.
	notFoundDelay = time.Hour
	// cutDelay is how long a request that was cut off may still have an effect.
	cutDelay = 2 * time.Minute
)

// noteFailure records a failed attempt.
func (s *Share) noteFailure(err error, now time.Time) {
	s.Failure = session.ClipText(err.Error(), maxFailure)
	wait := maxBackoff
	if s.Attempts < 12 { // 2^12 seconds are more than an hour
		wait = min(firstBackoff<<s.Attempts, maxBackoff)
	}
	s.Attempts++
	s.NextAttempt = now.Add(wait).UnixMilli()
}

// noteRevocation records a failed attempt at a withdrawal. isAbsent says that the server answers that there is no share.
func (s *Share) noteRevocation(err error, isAbsent bool, now time.Time) {
	s.noteFailure(err, now)
	switch {
	case !isAbsent:
		s.NotFoundSince = 0
	case s.NotFoundSince == 0:
		s.NotFoundSince = now.UnixMilli()
	}
}

// maxFailure bounds the text of a failure, in bytes.
const maxFailure = 300

// noteSuccess forgets the failed attempts.
func (s *Share) noteSuccess() { s.Failure, s.Attempts, s.NextAttempt = "", 0, 0 }

// IsAbandoned reports whether the share was to be withdrawn and nothing tries that any more.
func (s *Share) IsAbandoned(now time.Time) bool {
	return s.RevokedAt > 0 && now.Sub(time.UnixMilli(s.RevokedAt)) > revokeRetryLimit
}
