package share

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	// batchDelay is the time in which changes of a session are gathered: they are sent together.
	batchDelay = 400 * time.Millisecond
	// maxPushes is the number of shares that are worked on at once.
	maxPushes = 4
	// openTimeout is the time after which a share without an address is left of a process that ended.
	openTimeout = time.Minute
	// unrecordedDelay is the time between attempts whose failures cannot be recorded.
	unrecordedDelay = time.Minute
	// lastTimeout bounds what is sent after the end of the context.
	lastTimeout = 3 * time.Second
)

// Run sends what is committed, ends shares that expire, and withdraws those whose session is deleted, until ctx ends.
// Then it sends what is left for at most lastTimeout.
func (o *Outbox) Run(ctx context.Context) {
	commits, stop := o.Log.WatchCommits()
	defer stop()
	o.all.Store(true)
	for ctx.Err() == nil {
		next := o.startDue(ctx, o.all.Swap(false))
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-o.wake:
		case <-commits:
		case <-due:
			o.all.Store(true)
		}
		select {
		case <-ctx.Done():
		case <-time.After(batchDelay):
		}
	}
	o.pushes.Wait()
	late := fmt.Errorf("no answer within %s", lastTimeout)
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastTimeout, late)
	defer cancel()
	o.startDue(last, true)
	o.pushes.Wait()
}

// startDue starts what is due and not under way. If all is false, shares that cairn shows are skipped: a commit affects them
// only if it deletes their session. It returns when more is due; zero if nothing waits for a time.
func (o *Outbox) startDue(ctx context.Context, all bool) (next time.Time) {
	shares, err := o.Registry.List()
	if err != nil {
		o.Logger.Warn("the shares are not kept up to date", "error", err)
		return next
	}
	now := time.Now()
	for _, s := range shares {
		for _, ms := range []int64{s.NextAttempt, s.Expires} {
			if at := time.UnixMilli(ms); at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if !all && !s.isRemote() || o.chooseStep(ctx, &s, now).act == stepNone {
			continue
		}
		ctx, release, ok := o.claim(ctx, s.ID, maxPushes)
		if !ok {
			continue
		}
		o.pushes.Go(func() {
			defer release()
			o.advance(ctx, s.ID)
		})
	}
	return next
}

// action is what is to be done for a share.
type action int

const (
	stepNone     action = iota
	stepRevoke        // it was withdrawn, its time is over, or its session was deleted
	stepOpen            // an automatic share has no address
	stepRemove          // the process ended while a person shared it: nobody has its address
	stepRecord          // the process ended before the session says that it is shared
	stepPush            // the server lacks what is new
)

// step is an action, and the seq of the session's newest event.
type step struct {
	act  action
	head int64
}

// chooseStep returns what a share needs now. Waiting after failures delays only more of the same: not a withdrawal that is
// due since.
func (o *Outbox) chooseStep(ctx context.Context, s *Share, now time.Time) step {
	waits := s.NextAttempt > now.UnixMilli()
	if s.RevokedAt > 0 {
		if waits || s.IsAbandoned(now) {
			return step{}
		}
		return step{act: stepRevoke}
	}
	if s.Expires > 0 && s.Expires <= now.UnixMilli() {
		return step{act: stepRevoke}
	}
	there, head, err := o.readHead(ctx, s.SessionID)
	switch {
	case errors.Is(err, &session.Error{Code: session.CodeNotFound}):
		return step{act: stepRevoke}
	case err != nil || waits: // a damaged session stays as it was shared
		return step{}
	case s.URL == "" && s.Auto:
		return step{act: stepOpen}
	case s.URL == "" && now.Sub(time.UnixMilli(s.Created)) < openTimeout: // it is being published
		return step{}
	case s.URL == "":
		return step{act: stepRemove}
	case there.Share == nil || there.Share.URL != s.URL:
		return step{act: stepRecord}
	case s.isRemote() && s.SyncedSeq < head && o.MayShare(ctx, there):
		return step{stepPush, head}
	}
	return step{}
}

// advance does what a share needs now, and records a failure in it. The claim of the share is held.
func (o *Outbox) advance(ctx context.Context, id string) {
	s, found, err := o.Registry.Find(id)
	if err != nil || !found {
		return
	}
	now := time.Now()
	switch next := o.chooseStep(ctx, &s, now); next.act {
	case stepNone:
	case stepRevoke:
		_, err = o.revoke(ctx, s)
	case stepOpen:
		if s, err = o.open(ctx, s); err == nil {
			err = o.record(ctx, &s)
		}
	case stepRemove:
		err = o.Registry.remove(id)
	case stepRecord:
		err = o.record(ctx, &s)
	case stepPush:
		err = o.update(ctx, &s, next.head)
	}
	if err == nil || isEnding(ctx) {
		return
	}
	o.Logger.Warn("a share is not up to date", "session", s.SessionID, "error", err)
	if _, err := o.Registry.change(id, func(s *Share) { s.noteFailure(err, now) }); err != nil {
		// Nothing says when to try again, as on a full disk: the claim is kept for that time, unless a person interrupts it.
		o.Logger.Warn("the failure of a share could not be recorded", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(unrecordedDelay):
		}
	}
}

// update sends what is new of a session, and records how far its share is.
func (o *Outbox) update(ctx context.Context, s *Share, head int64) error {
	synced, err := o.push(ctx, s, head)
	_, rerr := o.Registry.change(s.ID, func(s *Share) {
		if ctx.Err() != nil {
			s.CutAt = time.Now().UnixMilli()
		}
		if s.SyncedSeq = synced; err == nil {
			s.noteSuccess()
		}
	})
	return errors.Join(err, rerr)
}

// readHead returns the session and the seq of its newest event.
func (o *Outbox) readHead(ctx context.Context, id session.ID) (s *session.Session, head int64, err error) {
	err = o.Store.View(ctx, func(r store.Reader) (err error) {
		if s, err = store.FindSession(r, id); err == nil {
			head, err = r.Head(id)
		}
		return err
	})
	return s, head, err
}
