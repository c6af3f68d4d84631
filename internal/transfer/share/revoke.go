package share

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// revokeTimeout is how long a request waits until a server has confirmed a revocation.
const revokeTimeout = 10 * time.Second

// Revoke revokes the shares of a session: the active one, and earlier ones that are still being revoked. RevokedAt of the
// result is 0 if all revocations are complete; otherwise the result is a share whose server has not confirmed it, and Run
// retries. It does nothing for a session that is not shared.
func (o *Outbox) Revoke(ctx context.Context, id session.ID) (Share, error) {
	all, err := o.Registry.List()
	if err != nil {
		return Share{}, err
	}
	result, isFound := Share{SessionID: id}, false
	for i := len(all) - 1; i >= 0; i-- { // the active one, which is the newest, first
		if all[i].SessionID != id {
			continue
		}
		isFound = true
		s, revokeErr := o.revokeNow(ctx, all[i])
		if err = errors.Join(err, revokeErr); s.RevokedAt > 0 {
			result = s
		}
	}
	if !isFound {
		err = o.correctSession(ctx, id)
	}
	return result, err
}

// revokeEarlier revokes earlier shares of the session: those that have expired, and one that is still being revoked at the
// target, which has only one share of a session.
func (o *Outbox) revokeEarlier(ctx context.Context, id session.ID, target string) error {
	for {
		s, found, err := o.Registry.find(func(s *Share) bool {
			return s.SessionID == id && (s.RevokedAt == 0 && s.isExpired(time.Now()) ||
				s.RevokedAt > 0 && s.Target == target && s.RemoteID != "")
		})
		if err != nil || !found {
			return err
		}
		switch s, err = o.revokeNow(ctx, s); {
		case err != nil:
			return err
		case s.RevokedAt > 0 && s.Target == target:
			return session.Errorf(session.CodeConflict, "an earlier share of session %q is still being revoked: %s; try again later",
				id, s.Failure)
		}
	}
}

// revokeNow revokes a share for a request, for at most revokeTimeout. It interrupts an upload. If that does not end in
// time, Run does the rest.
func (o *Outbox) revokeNow(ctx context.Context, s Share) (Share, error) {
	timeout := fmt.Errorf("no answer within %s", revokeTimeout)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), revokeTimeout, timeout)
	defer cancel()
	// Record the revocation before anything that may take long.
	s, recordErr := o.recordRevocation(ctx, s)
	switch {
	case errors.Is(recordErr, &session.Error{Code: session.CodeNotFound}): // another request has revoked it
		return s, nil
	case s.RevokedAt == 0:
		return s, recordErr
	}
	// Claim the share, and have the server delete it.
	ctx, release, err := o.interrupt(ctx, s.ID)
	if err != nil {
		if recordErr != nil {
			return s, describeUnrevoked(&s, err, recordErr)
		}
		s.Failure = err.Error()
		return s, nil
	}
	defer release()
	current, found, err := o.Registry.Find(s.ID)
	if err != nil || !found { // another request has completed it
		s.RevokedAt = 0
		return s, err
	}
	return o.revoke(ctx, current)
}

// recordRevocation records that a share is revoked: from then on it is not served, and nothing is uploaded. If the disk is
// full, it frees the reserve. If the revocation cannot be recorded, it holds in this process, with an error.
func (o *Outbox) recordRevocation(ctx context.Context, s Share) (Share, error) {
	if s.RevokedAt > 0 {
		return s, nil
	}
	o.audit(ctx, "revoke the share of "+string(s.SessionID)+" "+describeTarget(&s))
	change := func(s *Share) {
		if s.RevokedAt == 0 {
			s.RevokedAt = time.Now().UnixMilli()
			s.noteSuccess()
		}
	}
	revoked, err := o.Registry.changeAnyway(s.ID, change)
	for err != nil && o.Owner.MakeRoom(err) {
		revoked, err = o.Registry.changeAnyway(s.ID, change)
	}
	return revoked, err
}

// correctSession corrects a session that says that it is shared although the registry does not have the share, as after
// the loss of the registry.
func (o *Outbox) correctSession(ctx context.Context, id session.ID) error {
	s, err := store.ReadSession(ctx, o.Store, id)
	if err != nil || s.Share == nil {
		return err
	}
	if err := o.Owner.RecordShare(ctx, id, nil); err != nil {
		return err
	}
	return session.Errorf(session.CodeConflict, "session %q is no longer marked as shared, but the share at %s cannot be revoked: "+
		"the share list that had its secret was lost", id, s.Share.URL)
}

// revoke revokes a share: it records the revocation, has the server delete the share, corrects the session, and removes
// the share from the registry once the server has confirmed the deletion. A failure of the server is recorded in the
// share and is not an error. The share is claimed.
func (o *Outbox) revoke(ctx context.Context, s Share) (Share, error) {
	// Record the revocation. If that fails, as on a full disk, the server can still delete the share.
	s, err := o.recordRevocation(ctx, s)
	if s.RevokedAt == 0 {
		return s, err
	}
	// Have the server delete the share. The session no longer says that it is shared, whatever the server answers.
	var failure error
	if s.RemoteID != "" {
		failure = o.targetOf(&s).delete(ctx, &s)
	}
	o.recordEnd(context.WithoutCancel(ctx), &s)
	// Record a failure, and a request that the server may still process; otherwise the revocation is complete.
	now := time.Now()
	isNotFound := errors.Is(failure, errUnconfirmed)
	isConfirmed := failure == nil || isNotFound && s.NotFoundSince > 0 && now.Sub(time.UnixMilli(s.NotFoundSince)) >= notFoundDelay
	switch {
	case !isConfirmed && isEnding(ctx):
		return s, failure
	case !isConfirmed:
		s, err = o.Registry.change(s.ID, func(s *Share) { s.noteRevocation(failure, isNotFound, now) })
		if err != nil {
			err = describeUnrevoked(&s, failure, err)
		}
		return s, err
	case s.RemoteID != "" && now.Sub(time.UnixMilli(s.CutAt)) < cutDelay:
		return o.Registry.change(s.ID, func(s *Share) {
			s.Failure = "the server has deleted the share; cairn checks again in 2 minutes, because an upload was in progress"
			s.NextAttempt = s.CutAt + cutDelay.Milliseconds()
		})
	case s.RemoteID != "":
		o.audit(ctx, "the share of "+string(s.SessionID)+" is revoked "+describeTarget(&s))
	}
	if err := o.remove(s.ID); err != nil {
		return s, describeUnrevoked(&s, nil, err)
	}
	s.RevokedAt = 0
	return s, nil
}

// audit adds an entry to the audit log. If that fails, the share is revoked nevertheless.
func (o *Outbox) audit(ctx context.Context, what string) {
	if err := o.Owner.Audit(ctx, what); err != nil {
		o.Logger.Warn("the audit log could not be written", "error", err)
	}
}

// describeUnrevoked returns the error of a revocation that could not be recorded because of cause. failure is why the
// server has not confirmed it, nil if it has.
func describeUnrevoked(s *Share, failure, cause error) error {
	switch {
	case failure != nil:
		return session.Errorf(session.CodeUnavailable, "share of session %q not revoked: %v; %v", s.SessionID, failure, cause)
	case s.RemoteID == "":
		return session.Errorf(session.CodeUnavailable, "the share of session %q is not shown until cairn restarts, but its revocation "+
			"could not be recorded: %v; revoke it again when the disk has space", s.SessionID, cause)
	}
	return session.Errorf(session.CodeUnavailable, "the server has deleted the share of session %q, but that could not be "+
		"recorded: %v; revoke it again when the disk has space", s.SessionID, cause)
}

// recordEnd records in the session that it is not shared. A damaged session, or a full disk, does not keep the share.
func (o *Outbox) recordEnd(ctx context.Context, s *Share) {
	current, err := store.ReadSession(ctx, o.Store, s.SessionID)
	if err == nil && current.Share != nil && current.Share.URL == s.URL {
		err = o.Owner.RecordShare(ctx, s.SessionID, nil)
	}
	if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		o.Logger.Warn("a session could not record that it is no longer shared", "session", s.SessionID, "error", err)
	}
}
