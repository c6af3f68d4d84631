package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	// batchDelay is how long changes are collected, so that one request has all of them.
	batchDelay = 400 * time.Millisecond
	// maxWorkers is the number of shares that are worked on at once.
	maxWorkers = 4
	// recheckDelay is the time between two looks at a share that waits for its configuration or its session, and
	// between attempts whose failures cannot be recorded.
	recheckDelay = time.Minute
	// lastTimeout bounds the work after the end of Run's context.
	lastTimeout = 3 * time.Second
)

// Run keeps the shares up to date until ctx ends: it uploads changed sessions, opens automatic shares, and revokes
// shares that expire or whose session is deleted. Then it does what is due once more, for at most lastTimeout. In that time
// a create that is under way may be answered; another one is left to the next process.
//
// Work is found without a look at each session: a follower of the log marks the shares of changed sessions, and the
// registry knows the times of expiries and retries.
func (o *Outbox) Run(ctx context.Context) {
	marked, isLost, err := o.Registry.takeMarks()
	isNew := isLost || err != nil // the marks of an earlier process are unknown
	for _, id := range marked {
		o.schedule.add(id)
	}
	creating, cancel := extendContext(ctx)
	defer cancel()
	var followed <-chan struct{} // closed when the follower has ended; nil before it has started
	for ctx.Err() == nil {
		// Follow the log once there is a share. Without one the log is not read.
		shares, err := o.Registry.List()
		o.noteReadFailure(err)
		switch {
		case len(shares) == 0:
			isNew = isNew || followed == nil // marks begin with the first share
		case followed == nil:
			followed = o.startFollower(ctx, isNew)
		}
		// Start what is due, then wait for a change, or for the next time at which something is due.
		next, _ := o.startDue(ctx, creating)
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-o.wake:
		case <-due:
		}
		select {
		case <-ctx.Done():
		case <-time.After(batchDelay):
		}
	}
	o.finish(ctx, followed)
}

// errLate is why a request ends that is not answered within lastTimeout after the end of Run's context.
var errLate = fmt.Errorf("no answer within %s", lastTimeout)

// extendContext returns a context that ends lastTimeout after ctx.
func extendContext(ctx context.Context) (context.Context, context.CancelFunc) {
	extended, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastTimeout):
		case <-extended.Done():
		}
		end(errLate)
	})
	return extended, func() { stop(); end(nil) }
}

// finish does what is due when ctx has ended, for at most lastTimeout, and stores the progress.
func (o *Outbox) finish(ctx context.Context, followed <-chan struct{}) {
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastTimeout, errLate)
	defer cancel()
	// Wait for what was begun before. The follower marks what was committed until now.
	if followed != nil {
		<-followed
	}
	o.workers.Wait()
	o.awaitRequests(last)
	// Begin what is due, but no create, because ctx has ended.
	for started := 1; started > 0 && last.Err() == nil; o.workers.Wait() {
		_, started = o.startDue(last, ctx)
	}
	if err := o.saveProgress(true); err != nil {
		o.Logger.Warn("the progress of the shares could not be stored", "error", err)
	}
}

// awaitRequests returns when no request works on a share, or ctx ends.
func (o *Outbox) awaitRequests(ctx context.Context) {
	for {
		o.mu.Lock()
		var busy *claim
		for _, busy = range o.busy {
			break
		}
		o.mu.Unlock()
		if busy == nil {
			return
		}
		select {
		case <-busy.done:
		case <-ctx.Done():
			return
		}
	}
}

// noteReadFailure logs an error that is not the one of the call before.
func (o *Outbox) noteReadFailure(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != o.readFailure {
		o.Logger.Warn("the shares are not kept up to date", "error", err)
	}
	o.readFailure = text
}

// startDue starts workers for the shares that are due and not in work, as long as there are free workers. creating is the
// context of requests that create shares. It returns how many it started, and when the next share is due; zero if none
// waits for a time.
func (o *Outbox) startDue(ctx, creating context.Context) (next time.Time, started int) {
	now := time.Now()
	shares, err := o.Registry.List()
	if err != nil { // it may be repaired
		return now.Add(recheckDelay), 0
	}
	due, next := o.listDue(shares, now)
	for _, d := range due {
		// A share that is in work, or for which no worker is free, is looked at when a claim is released.
		ctx, release, ok := o.claim(ctx, d.id, true)
		if !ok {
			continue
		}
		started++
		o.workers.Go(func() {
			defer release()
			o.schedule.finish(d.id, d.mark, o.advance(ctx, creating, d.id))
		})
	}
	return next, started
}

// dueShare is a share that is due.
type dueShare struct {
	id           string
	mark         mark
	at           time.Time // since when
	isRevocation bool
}

// listDue returns the shares that are due: revocations first, then those that have waited longest. next is when the next
// one of the others is due; zero if none waits for a time.
func (o *Outbox) listDue(shares []Share, now time.Time) (due []dueShare, next time.Time) {
	for i := range shares {
		s := &shares[i]
		m, isMarked := o.schedule.find(s.ID)
		at, ok := findDueTime(s, m, isMarked, now)
		switch {
		case !ok:
		case !at.After(now):
			due = append(due, dueShare{s.ID, m, at, s.RevokedAt > 0 || s.isExpired(now)})
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	slices.SortStableFunc(due, func(a, b dueShare) int {
		if a.isRevocation != b.isRevocation {
			return map[bool]int{true: -1, false: 1}[a.isRevocation]
		}
		return a.at.Compare(b.at)
	})
	return due, next
}

// findDueTime returns when a share is to be looked at. ok is false if that is not before it changes.
func findDueTime(s *Share, m mark, isMarked bool, now time.Time) (at time.Time, ok bool) {
	switch {
	case s.IsAbandoned(now):
		return at, false
	case s.RevokedAt > 0:
		return time.UnixMilli(s.NextAttempt), true
	}
	at, ok = m.due, isMarked
	if expires := time.UnixMilli(s.Expires); s.Expires > 0 && (!ok || expires.Before(at)) {
		at, ok = expires, true
	}
	return at, ok
}

// advance does the next step of a share and records a failure in the registry. A create is not begun if the context of
// creates has ended. It returns when the share is to be looked at again; zero if that is not before it changes. The share is
// claimed.
func (o *Outbox) advance(ctx, creating context.Context, id string) (next time.Time) {
	s, found, err := o.Registry.Find(id)
	if err != nil || !found {
		return next
	}
	// Read the session, unless the share is to be revoked whatever the session is: it may be damaged.
	now := time.Now()
	var current *session.Session
	var head int64
	if s.RevokedAt == 0 && !s.isExpired(now) {
		current, head, err = o.readHead(ctx, s.SessionID)
		if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
			return now.Add(recheckDelay) // the share stays as it is
		}
	}
	// Do the step, unless sharing was disabled. After all steps but the last one, decide again.
	a := decide(&s, current, head, now)
	next = now
	isLate := a.step == stepOpen && creating.Err() != nil
	if isLate || (a.step == stepOpen || a.step == stepPush) && !o.Owner.MayShare(ctx, current) {
		return now.Add(recheckDelay)
	}
	switch a.step {
	case stepNone:
		return time.Time{}
	case stepWait:
		return a.until
	case stepOpen:
		if s, err = o.open(creating, s); err == nil {
			err = o.record(ctx, &s)
		}
	case stepRemove:
		err, next = o.remove(id), time.Time{}
	case stepRecord:
		if err = o.record(ctx, &s); err == nil && s.Failure != "" {
			_, err = o.Registry.change(id, (*Share).noteSuccess)
		}
	case stepPush:
		err, next = o.update(ctx, &s, head), time.Time{}
	case stepRevoke:
		_, err = o.revoke(ctx, s)
		next = time.Time{}
	}
	switch {
	case err == nil:
		return next
	case isEnding(ctx):
		return now
	}
	o.Logger.Warn("a share is not up to date", "session", s.SessionID, "error", err)
	return o.noteFailure(id, err)
}

// noteFailure records a failed attempt, and returns when the next one is due. If that cannot be recorded, as on a full
// disk, the share is retried after recheckDelay.
func (o *Outbox) noteFailure(id string, failure error) time.Time {
	s, err := o.Registry.change(id, func(s *Share) { s.noteFailure(failure, time.Now()) })
	if err != nil {
		o.Logger.Warn("the failure of a share could not be recorded", "error", err)
		s, err = o.Registry.edit(id, func(s *Share) {
			s.noteFailure(failure, time.Now())
			s.NextAttempt = time.Now().Add(recheckDelay).UnixMilli()
		}, false)
	}
	if err != nil { // it has been removed
		return time.Time{}
	}
	return time.UnixMilli(s.NextAttempt)
}

// update uploads the newest events of a session, and records how far its server is up to date.
func (o *Outbox) update(ctx context.Context, s *Share, head int64) error {
	models, wasDue := s.Models, s.ModelsDue
	synced, err := o.push(ctx, s, head)
	recordErr := o.Registry.setSynced(s.ID, s.SyncedSeq, synced)
	isCut := ctx.Err() != nil || isUnanswered(err)
	if isCut || err == nil && (s.Failure != "" || s.ModelsDue != wasDue || !slices.Equal(s.Models, models)) {
		pushed := *s
		_, changeErr := o.Registry.change(s.ID, func(s *Share) {
			s.Models, s.ModelsDue = pushed.Models, pushed.ModelsDue
			if isCut {
				s.CutAt = time.Now().UnixMilli()
			}
			if err == nil {
				s.noteSuccess()
			}
		})
		recordErr = errors.Join(recordErr, changeErr)
	}
	if err := o.saveProgress(false); err != nil { // the next process uploads the same again
		o.Logger.Warn("the progress of the shares could not be stored", "error", err)
	}
	return errors.Join(err, recordErr)
}

// readHead returns the session and the seq of its newest event.
func (o *Outbox) readHead(ctx context.Context, id session.ID) (s *session.Session, head int64, err error) {
	err = o.Store.View(ctx, func(r store.Reader) (err error) {
		if s, err = store.FindSession(r, id); err == nil {
			head, err = r.Head(id)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return s, head, nil
}
