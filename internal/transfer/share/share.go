// Package share stores which sessions are shared and keeps share servers up to date. A share is served by cairn's own
// page server (package sharepage) or uploaded to a server that speaks OpenCode's share protocol.
//
// The registry records a share before the server is contacted and keeps it, even after the session is deleted, until
// the server has confirmed the deletion.
package share

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Share is a shared session, or one whose share is pending or being revoked. Times are milliseconds since the Unix
// epoch.
type Share struct {
	ID        string     `json:"id"` // random; part of the address if cairn serves the page
	SessionID session.ID `json:"sessionID"`
	URL       string     `json:"url,omitzero"` // "" until the share has an address
	Auto      bool       `json:"auto,omitzero"`
	Created   int64      `json:"created"`
	Expires   int64      `json:"expires,omitzero"` // 0 without an expiry

	// RevokedAt is when the share was revoked; 0 if it is active or pending. The share stays in the registry until its
	// server has confirmed the deletion.
	RevokedAt int64 `json:"revokedAt,omitzero"`
	// NotFoundSince is since when the server answers not found to a revocation; 0 if it does not.
	NotFoundSince int64 `json:"notFoundSince,omitzero"`

	// Target is the address of the share server, "" if cairn serves the page. RemoteID, "" until the share server has
	// answered, and Secret are the server's.
	Target   string `json:"target,omitzero"`
	RemoteID string `json:"remoteID,omitzero"`
	Secret   string `json:"secret,omitzero"`
	// SyncedSeq is the seq of the session up to which the server has it, -1 if it has nothing. The file of the registry
	// has an older value: the current one is in the file of the progress.
	SyncedSeq int64 `json:"syncedSeq,omitzero"`

	// Models are those of the list of models that the server has, or is to get if ModelsDue: they were unknown at the last
	// upload. That is in the file of the progress.
	Models    []session.ModelRef `json:"models,omitzero"`
	ModelsDue bool               `json:"-"`

	// CutAt is when a request with content was last cancelled, or got no answer. The server may still process it.
	CutAt int64 `json:"uploadCancelledAt,omitzero"`

	// Failure is why the last attempt failed, Attempts the number of consecutive failed attempts, and NextAttempt the
	// earliest time of the next one.
	Failure     string `json:"failure,omitzero"`
	Attempts    int    `json:"attempts,omitzero"`
	NextAttempt int64  `json:"nextAttempt,omitzero"`
}

// IsActive reports whether the session can be read at the time.
func (s *Share) IsActive(now time.Time) bool {
	return s.RevokedAt == 0 && s.URL != "" && !s.isExpired(now)
}

func (s *Share) isExpired(now time.Time) bool { return s.Expires > 0 && s.Expires <= now.UnixMilli() }

// isRemote reports whether the share belongs to a share server, which may not have it yet.
func (s *Share) isRemote() bool { return s.Target != "" }

// newID returns 128 random bits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// The bounds of attempts at a server.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Hour
	// revokeRetryLimit is how long a failing revocation is retried. Then the share stays in the list as abandoned.
	revokeRetryLimit = 30 * 24 * time.Hour
	// notFoundDelay is how long a server must answer not found until that confirms a revocation.
	notFoundDelay = time.Hour
	// cutDelay is how long the server may take to process a request that was cancelled.
	cutDelay = 2 * time.Minute
)

// maxFailure bounds the text of a failure, in bytes.
const maxFailure = 300

// noteFailure records a failed attempt and when the next one is due.
func (s *Share) noteFailure(err error, now time.Time) {
	s.Failure = session.ClipText(err.Error(), maxFailure)
	wait := maxBackoff
	if s.Attempts < 12 { // 2^12 seconds are more than an hour
		wait = min(firstBackoff<<s.Attempts, maxBackoff)
	}
	s.Attempts++
	s.NextAttempt = now.Add(wait).UnixMilli()
}

// noteRevocation records a failed attempt at a revocation. isNotFound says that the server answers not found.
func (s *Share) noteRevocation(err error, isNotFound bool, now time.Time) {
	s.noteFailure(err, now)
	switch {
	case !isNotFound:
		s.NotFoundSince = 0
	case s.NotFoundSince == 0:
		s.NotFoundSince = now.UnixMilli()
	}
}

// noteSuccess resets the failed attempts.
func (s *Share) noteSuccess() { s.Failure, s.Attempts, s.NextAttempt = "", 0, 0 }

// IsAbandoned reports whether the share was revoked, the server has not confirmed it, and the retries have ended.
func (s *Share) IsAbandoned(now time.Time) bool {
	return s.RevokedAt > 0 && now.Sub(time.UnixMilli(s.RevokedAt)) > revokeRetryLimit
}
