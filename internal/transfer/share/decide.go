package share

import (
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// step is a step of the life of a share.
type step int

const (
	stepNone   step = iota // nothing is to be done until the share or its session changes
	stepWait               // something is to be done later
	stepOpen               // an automatic share needs its address
	stepRemove             // a request to share ended with its process: the share has no address and is not retried
	stepRecord             // the session does not say where it is shared
	stepPush               // the server lacks the newest events
	stepRevoke             // the share was revoked or has expired, or its session was deleted
)

// action is what decide chooses: a step now, or stepWait with the time to decide again.
type action struct {
	step  step
	until time.Time // of stepWait
}

// pendingTimeout is the age at which a share without an address counts as left behind by a process that ended.
const pendingTimeout = time.Minute

// decide returns the action that a share needs now. current is its session, nil if that was deleted, and head the seq
// of the session's newest event. Both are ignored for a share that was revoked or has expired. The backoff of a failed
// request delays a repetition, but not a revocation that has become due since.
func decide(s *Share, current *session.Session, head int64, now time.Time) action {
	isBackoff := s.NextAttempt > now.UnixMilli()
	retry := action{stepWait, time.UnixMilli(s.NextAttempt)}
	switch {
	// A revocation, recorded or due.
	case s.IsAbandoned(now):
		return action{step: stepNone}
	case s.RevokedAt > 0 && isBackoff:
		return retry
	case s.RevokedAt > 0, s.isExpired(now), current == nil:
		return action{step: stepRevoke}
	case isBackoff:
		return retry
	// A share without an address.
	case s.URL == "" && s.Auto:
		return action{step: stepOpen}
	case s.URL == "":
		if until := time.UnixMilli(s.Created).Add(pendingTimeout); until.After(now) {
			return action{stepWait, until} // the request that shares it may be in progress
		}
		return action{step: stepRemove}
	// An active share. If the server has more than the session, an earlier state of the store was restored.
	case current.Share == nil || current.Share.URL != s.URL || current.Share.Expires != s.Expires:
		return action{step: stepRecord}
	case s.isRemote() && s.SyncedSeq != head:
		return action{step: stepPush}
	}
	return action{step: stepNone}
}
