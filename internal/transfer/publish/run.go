package publish

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	// pause is the time in which changes of a session are gathered: they are sent together.
	pause = 400 * time.Millisecond
	// maxPushes is the number of shares that are worked on at once.
	maxPushes = 4
	// openTime is the time after which a share without an address is left of a process that ended.
	openTime = time.Minute
	// lastTime bounds what is sent after the end of the context.
	lastTime = 3 * time.Second
)

// Run sends what is committed, ends shares that expire, and withdraws those whose session is deleted, until ctx ends.
// Then it sends what is left for at most lastTime.
func (o *Outbox) Run(ctx context.Context) {
	commits, stop := o.Log.WatchCommits()
	defer stop()
	for all := true; ctx.Err() == nil; {
		next := o.startDue(ctx, all)
		var due <-chan time.Time
		if !next.IsZero() {
			due = time.After(time.Until(next))
		}
		all = true
		select {
		case <-ctx.Done():
		case <-o.wake:
		case <-due:
		case <-commits:
			all = false
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	o.pushes.Wait()
	late := fmt.Errorf("no answer within %s", lastTime)
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastTime, late)
	defer cancel()
	o.startDue(last, true)
	o.pushes.Wait()
}

// startDue starts what is due and not under way. all looks at the shares that cairn shows, too: of those a commit changes
// nothing but by a deletion. It returns when more is due; zero if nothing waits for a time.
func (o *Outbox) startDue(ctx context.Context, all bool) (next time.Time) {
	shares, err := o.Registry.List()
	if err != nil {
		o.Logger.Warn("the shares are not kept up to date", "error", err)
		return next
	}
	now := time.Now()
	for _, s := range shares {
		for _, ms := range []int64{s.Next, s.Expires} {
			if at := time.UnixMilli(ms); at.After(now) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if s.Next > now.UnixMilli() || s.IsAbandoned(now) || !all && !s.isRemote() {
			continue
		}
		step, err := o.nextStep(ctx, &s, now)
		if err != nil {
			o.Logger.Warn("a share is not up to date", "session", s.SessionID, "error", err)
		}
		if step == nil {
			continue
		}
		ctx, release, ok := o.claim(ctx, s.ID, maxPushes)
		if !ok {
			continue
		}
		o.pushes.Go(func() {
			defer release()
			if err := step(ctx); err != nil && ctx.Err() == nil {
				o.Logger.Warn("a share is not up to date", "session", s.SessionID, "error", err)
			}
		})
	}
	return next
}

// nextStep returns what is to be done for a share, nil if it is as it should be.
func (o *Outbox) nextStep(ctx context.Context, s *Share, now time.Time) (step func(context.Context) error, err error) {
	there, head, err := o.readHead(ctx, s.SessionID)
	isDeleted := errors.Is(err, &session.Error{Code: session.CodeNotFound})
	if err != nil && !isDeleted {
		return nil, err
	}
	switch {
	case s.Withdrawn > 0 || isDeleted || s.Expires > 0 && s.Expires <= now.UnixMilli():
		return func(ctx context.Context) error {
			after, err := o.markWithdrawn(ctx, *s)
			if err == nil {
				_, err = o.withdraw(ctx, after)
			}
			return err
		}, nil
	case s.URL == "" && s.Auto:
		return func(ctx context.Context) error {
			after, err := o.open(ctx, *s)
			if err == nil {
				return o.record(ctx, &after)
			}
			if isEnding(ctx) {
				return err
			}
			_, rerr := o.Registry.change(s.ID, func(s *Share) { s.noteFailure(err, now) })
			return errors.Join(err, rerr)
		}, nil
	case s.URL == "" && now.Sub(time.UnixMilli(s.Created)) < openTime: // it is being published
		return nil, nil
	case s.URL == "": // the process ended while it was published: nobody has its address
		return func(context.Context) error { return o.Registry.remove(s.ID) }, nil
	case there.Share == nil || there.Share.URL != s.URL: // the process ended in between
		return func(ctx context.Context) error { return o.record(ctx, s) }, nil
	case s.isRemote() && s.Synced < head && o.MayShare(ctx, there):
		return func(ctx context.Context) error { return o.update(ctx, s, head, now) }, nil
	}
	return nil, nil
}

// update sends what is new of a session, and records how far its share is.
func (o *Outbox) update(ctx context.Context, s *Share, head int64, now time.Time) error {
	synced, err := o.push(ctx, s, head)
	_, rerr := o.Registry.change(s.ID, func(s *Share) {
		if ctx.Err() != nil {
			s.Cut = time.Now().UnixMilli()
		}
		switch s.Synced = synced; {
		case s.Withdrawn > 0: // meanwhile; its failures are others
		case err == nil:
			s.noteSuccess()
		case !isEnding(ctx):
			s.noteFailure(err, now)
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
