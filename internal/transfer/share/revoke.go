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

// Revoke revokes the share of a session. RevokedAt of the result is 0 if the revocation is complete; otherwise the
// server has not confirmed it, and Run retries. It does nothing for a session that is not shared.
func (o *Outbox) Revoke(ctx context.Context, id session.ID) (Share, error) {
	s, found, err := o.Registry.FindSession(id)
	if err == nil && !found { // retry one that is being revoked
		s, found, err = o.Registry.find(func(s *Share) bool { return s.SessionID == id })
	}
	if err != nil {
		return s, err
	}
	if !found {
		return Share{SessionID: id}, o.correctSession(ctx, id)
	}
	return o.revokeNow(ctx, s)
}

// revokeEarlier revokes an earlier share of the session at the target, of which the server has only one for a session.
func (o *Outbox) revokeEarlier(ctx context.Context, id session.ID, target string) error {
	s, found, err := o.Registry.find(func(s *Share) bool {
		return s.SessionID == id && s.RevokedAt > 0 && s.Target == target && s.RemoteID != ""
	})
	if err != nil || !found {
		return err
	}
	s, err = o.revokeNow(ctx, s)
	if err == nil && s.RevokedAt > 0 {
		err = session.Errorf(session.CodeConflict, "an earlier share of session %q is still being revoked: %s; try again later",
			id, s.Failure)
	}
	return err
}

// revokeNow revokes a share for a request, for at most revokeTimeout. It interrupts an upload.
func (o *Outbox) revokeNow(ctx context.Context, s Share) (Share, error) {
	timeout := fmt.Errorf("no answer within %s", revokeTimeout)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), revokeTimeout, timeout)
	defer cancel()
	ctx, release, err := o.interrupt(ctx, s.ID)
	if err != nil {
		return s, err
	}
	defer release()
	current, found, err := o.Registry.Find(s.ID)
	if err != nil || !found { // another request has revoked it
		s.RevokedAt = 0
		return s, err
	}
	return o.revoke(ctx, current)
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
	if s.RevokedAt == 0 {
		o.auditRevocation(ctx, "revoke the share of "+string(s.SessionID)+" "+describeTarget(&s))
	}
	marked, err := o.Registry.change(s.ID, func(s *Share) {
		if s.RevokedAt == 0 {
			s.RevokedAt = time.Now().UnixMilli()
			s.noteSuccess()
		}
	})
	if err != nil {
		return o.revokeUnrecorded(ctx, s, err)
	}
	s = marked
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
		return o.Registry.change(s.ID, func(s *Share) { s.noteRevocation(failure, isNotFound, now) })
	case s.RemoteID != "" && now.Sub(time.UnixMilli(s.CutAt)) < cutDelay:
		return o.Registry.change(s.ID, func(s *Share) {
			s.Failure, s.NextAttempt = "deleted, and checked again later: an upload was cancelled", s.CutAt+cutDelay.Milliseconds()
		})
	case s.RemoteID != "":
		o.auditRevocation(ctx, "the share of "+string(s.SessionID)+" is revoked "+describeTarget(&s))
	}
	s.RevokedAt = 0
	return s, o.remove(s.ID)
}

// auditRevocation adds an entry to the audit log. If that fails, the share is revoked nevertheless.
func (o *Outbox) auditRevocation(ctx context.Context, what string) {
	if err := o.Owner.Audit(ctx, what); err != nil {
		o.Logger.Warn("the audit log could not be written", "error", err)
	}
}

// revokeUnrecorded has the server delete a share whose revocation could not be recorded because of cause.
func (o *Outbox) revokeUnrecorded(ctx context.Context, s Share, cause error) (Share, error) {
	if s.RemoteID == "" {
		return s, session.Errorf(session.CodeUnavailable, "share of session %q not revoked: %v", s.SessionID, cause)
	}
	if err := o.targetOf(&s).delete(ctx, &s); err != nil {
		return s, session.Errorf(session.CodeUnavailable, "share of session %q not revoked: %v; %v", s.SessionID, err, cause)
	}
	return s, session.Errorf(session.CodeUnavailable, "the server has deleted the share of session %q, but that could not be "+
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
