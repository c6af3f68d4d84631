package share

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Outbox publishes the sessions of a store, keeps the servers of their shares up to date, and withdraws them. The fields
// are set before its methods are called. One process has the outbox of a store.
type Outbox struct {
	Registry  *Registry
	Store     store.Viewer
	Log       Log
	Transport http.RoundTripper // to servers of shares
	// Record records in the session that it is published, or with nil that it is not any more.
	Record func(ctx context.Context, id session.ID, s *session.Share) error
	// Audit records what is published and withdrawn. Nothing is published that cannot be recorded.
	Audit func(ctx context.Context, what string) error
	// ListSecrets returns the secrets that are known where the session is; what looks like one is recognised without. After
	// an error nothing is sent.
	ListSecrets func(ctx context.Context, s *session.Session) ([]string, error)
	// ListModels describes those of the models that are known where the session is.
	ListModels func(ctx context.Context, s *session.Session, refs map[session.ModelRef]bool) []opencode.ModelInfo
	// MayShare reports whether the configuration still lets the session be published. If not, nothing new is sent.
	MayShare func(ctx context.Context, s *session.Session) bool
	Logger   *slog.Logger

	wake   chan struct{}  // wakes Run; holds one
	all    atomic.Bool    // Run looks at the shares that cairn shows, too
	pushes sync.WaitGroup // of Run

	mu   sync.Mutex // guards busy
	busy map[string]*claim
}

// claim is the right to work on a share, which one goroutine has at a time.
type claim struct {
	cancel context.CancelFunc // of the work
	done   chan struct{}      // closed at the end
}

// claim takes a share to work on, with a context of the work, unless somebody does. It takes at most n at once.
func (o *Outbox) claim(ctx context.Context, id string, n int) (_ context.Context, release func(), ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy[id] != nil || len(o.busy) >= n {
		return ctx, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &claim{cancel, make(chan struct{})}
	o.busy[id] = c
	return ctx, func() {
		cancel()
		o.mu.Lock()
		delete(o.busy, id)
		o.mu.Unlock()
		close(c.done)
		o.signal() // to look at the share again
	}, true
}

// interrupt cancels the work on a share and takes it.
func (o *Outbox) interrupt(ctx context.Context, id string) (context.Context, func(), error) {
	for {
		if ctx, release, ok := o.claim(ctx, id, maxShares); ok {
			return ctx, release, nil
		}
		o.mu.Lock()
		c := o.busy[id]
		o.mu.Unlock()
		if c == nil {
			continue
		}
		c.cancel()
		select {
		case <-c.done:
		case <-ctx.Done():
			return ctx, nil, context.Cause(ctx)
		}
	}
}

// Log signals commits; *eventlog.Log implements it.
type Log interface {
	WatchCommits() (wake <-chan struct{}, stop func())
}

// NewOutbox returns an outbox whose fields are to be set.
func NewOutbox(r *Registry) *Outbox {
	return &Outbox{Registry: r, wake: make(chan struct{}, 1), busy: map[string]*claim{}}
}

// Wake has Run look at all shares, as after the deletion of a session.
func (o *Outbox) Wake() {
	o.all.Store(true)
	o.signal()
}

// signal has Run look at the shares that servers have.
func (o *Outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Options says how a session is published.
type Options struct {
	Target  string        // address of the server; "" if cairn shows the session
	PageURL string        // address of cairn's pages, if cairn does
	Expires time.Duration // 0 is never
	// Extend gives a session that is published already the end of this order.
	Extend bool
}

// newShare returns the share of a session that is published now.
func (order Options) newShare(id session.ID) Share {
	now := time.Now()
	s := Share{ID: newID(), SessionID: id, Created: now.UnixMilli(), Target: order.Target, SyncedSeq: -1}
	if order.Expires > 0 {
		s.Expires = now.Add(order.Expires).UnixMilli()
	}
	if !s.isRemote() {
		s.URL = order.PageURL + "/s/" + s.ID
	}
	return s
}

// ShareLater publishes a session without a request of a person: it does not wait for the server, and tries again.
func (o *Outbox) ShareLater(ctx context.Context, id session.ID, order Options) error {
	s := order.newShare(id)
	s.Auto = true
	if err := o.Audit(ctx, "share "+string(id)+" "+describeTarget(&s)); err != nil {
		return err
	}
	_, _, err := o.Registry.add(s)
	o.Wake()
	return err
}

// Share publishes a session, and returns when it has an address; of a server, its content follows. A session that is
// published stays where it is.
func (o *Outbox) Share(ctx context.Context, id session.ID, order Options) (Share, error) {
	there, found, err := o.Registry.FindSession(id)
	if err != nil {
		return there, err
	}
	if found && there.URL != "" {
		return o.extend(ctx, there, order)
	}
	if err := o.revokeEarlier(ctx, id, order.Target); err != nil {
		return there, err
	}
	s := order.newShare(id)
	if err := o.Audit(ctx, "share "+string(id)+" "+describeTarget(&s)); err != nil {
		return s, err
	}
	// Record the share before its server hears of it. One without an address is an automatic one, or left of an attempt that was
	// cut off.
	if s, _, err = o.Registry.add(s); err != nil {
		return s, err
	}
	ctx, release, err := o.interrupt(ctx, s.ID)
	if err != nil {
		return s, err
	}
	defer release()
	if s, found, err = o.Registry.Find(s.ID); err == nil && (!found || s.RevokedAt > 0) {
		err = session.Errorf(session.CodeConflict, "the share was withdrawn by another request")
	}
	if err != nil {
		return s, err
	}
	if s, err = o.open(ctx, s); err != nil {
		if s.RemoteID == "" && !s.Auto { // nobody can read it, and nothing tries it again
			err = errors.Join(err, o.Registry.remove(s.ID))
		}
		return s, err
	}
	return s, o.record(ctx, &s)
}

// extend gives a published share the end of the order, if it has one.
func (o *Outbox) extend(ctx context.Context, s Share, order Options) (Share, error) {
	if !order.Extend {
		return s, nil
	}
	next := order.newShare(s.SessionID)
	if err := o.Audit(ctx, "new end of the share of "+string(s.SessionID)+" "+describeTarget(&s)); err != nil {
		return s, err
	}
	s, err := o.Registry.change(s.ID, func(s *Share) { s.Expires = next.Expires })
	if err == nil {
		err = o.record(ctx, &s)
	}
	return s, err
}

// revokeEarlier makes sure that no earlier share of the session is left at the server, which could have only one.
func (o *Outbox) revokeEarlier(ctx context.Context, id session.ID, at string) error {
	s, found, err := o.Registry.find(func(s *Share) bool {
		return s.SessionID == id && s.RevokedAt > 0 && s.Target == at && s.RemoteID != ""
	})
	if err != nil || !found {
		return err
	}
	s, err = o.revokeNow(ctx, s)
	if err == nil && s.RevokedAt > 0 {
		err = session.Errorf(session.CodeConflict, "an earlier share of the session is not gone yet, and tried again: %s", s.Failure)
	}
	return err
}

// record records in the session where it is published.
func (o *Outbox) record(ctx context.Context, s *Share) error {
	return o.Record(ctx, s.SessionID, &session.Share{URL: s.URL, Expires: s.Expires})
}

// open has the server give the share its address.
func (o *Outbox) open(ctx context.Context, s Share) (Share, error) {
	if s.URL != "" {
		return s, nil
	}
	c, err := o.targetOf(&s).create(ctx, s.SessionID)
	if err != nil {
		return s, session.Errorf(session.CodeConflict, "sharing failed: %v", err)
	}
	opened, err := o.Registry.change(s.ID, func(s *Share) {
		s.RemoteID, s.URL, s.Secret = c.ID, c.URL, c.Secret
		s.noteSuccess()
	})
	if err != nil { // nothing could withdraw it later
		s.RemoteID, s.Secret = c.ID, c.Secret
		return Share{ID: s.ID, Auto: s.Auto}, errors.Join(err, o.targetOf(&s).delete(context.WithoutCancel(ctx), &s))
	}
	return opened, nil
}

func (o *Outbox) targetOf(s *Share) target { return target{s.Target, o.Transport} }

// describeTarget names where a share is shown.
func describeTarget(s *Share) string {
	if s.isRemote() {
		return "at " + s.Target
	}
	return "on pages of cairn"
}

// revokeTimeout is how long a person waits until a server has withdrawn a share.
const revokeTimeout = 10 * time.Second

// Withdraw ends the share of a session. The answer has RevokedAt set if the server has not shown yet that the share is
// gone: that is tried again. A session that is not shared stays so.
func (o *Outbox) Revoke(ctx context.Context, id session.ID) (Share, error) {
	s, found, err := o.Registry.FindSession(id)
	if err == nil && !found { // one that is being withdrawn is tried again now
		s, found, err = o.Registry.find(func(s *Share) bool { return s.SessionID == id })
	}
	if err != nil {
		return s, err
	}
	if !found {
		return Share{SessionID: id}, o.forget(ctx, id)
	}
	return o.revokeNow(ctx, s)
}

// revokeNow withdraws a share while a person waits, whatever is being sent of it.
func (o *Outbox) revokeNow(ctx context.Context, s Share) (Share, error) {
	late := fmt.Errorf("no answer within %s", revokeTimeout)
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), revokeTimeout, late)
	defer cancel()
	ctx, release, err := o.interrupt(ctx, s.ID)
	if err != nil {
		return s, err
	}
	defer release()
	now, found, err := o.Registry.Find(s.ID)
	if err != nil || !found { // meanwhile it is gone
		s.RevokedAt = 0
		return s, err
	}
	return o.revoke(ctx, now)
}

// forget corrects a session that says that it is shared although there is no such share, as after the loss of the registry.
func (o *Outbox) forget(ctx context.Context, id session.ID) error {
	there, err := store.ReadSession(ctx, o.Store, id)
	if err != nil || there.Share == nil {
		return err
	}
	if err := o.Record(ctx, id, nil); err != nil {
		return err
	}
	return session.Errorf(session.CodeConflict, "the session is not marked as shared any more, but nothing can withdraw what is at %s: the "+
		"list of shares, which had its secret, was lost", there.Share.URL)
}

// isEnding reports whether ctx was cancelled, because the process ends or a person withdraws the share: the attempt is no
// failure of the server.
func isEnding(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// withdraw records that the share is to be withdrawn, has the server remove it, corrects the session, and forgets the share
// once it is gone. A failure of the server is recorded in the share, not returned. The claim of the share is held.
func (o *Outbox) revoke(ctx context.Context, s Share) (Share, error) {
	if s.RevokedAt == 0 {
		if err := o.Audit(ctx, "withdraw the share of "+string(s.SessionID)+" "+describeTarget(&s)); err != nil {
			o.Logger.Warn("the audit log could not be written", "error", err) // to end a share is more important
		}
	}
	marked, err := o.Registry.change(s.ID, func(s *Share) {
		if s.RevokedAt == 0 {
			s.RevokedAt = time.Now().UnixMilli()
			s.noteSuccess()
		}
	})
	if err != nil { // on a full disk, the server can still delete it
		return o.revokeUnrecorded(ctx, s, err)
	}
	s = marked
	var failure error
	if s.RemoteID != "" {
		failure = o.targetOf(&s).delete(ctx, &s)
	}
	o.recordEnd(context.WithoutCancel(ctx), &s)
	now := time.Now()
	switch isAbsent := errors.Is(failure, errUnconfirmed); {
	case failure != nil && isEnding(ctx):
		return s, failure
	case failure != nil && (!isAbsent || s.NotFoundSince == 0 || now.Sub(time.UnixMilli(s.NotFoundSince)) < notFoundDelay):
		return o.Registry.change(s.ID, func(s *Share) { s.noteRevocation(failure, isAbsent, now) })
	case s.RemoteID != "" && now.Sub(time.UnixMilli(s.CutAt)) < cutDelay: // a request that was cut off may still arrive
		return o.Registry.change(s.ID, func(s *Share) {
			s.Failure, s.NextAttempt = "it is gone, and looked at once more: a request was cut off", s.CutAt+cutDelay.Milliseconds()
		})
	case s.RemoteID != "":
		if err := o.Audit(ctx, "the share of "+string(s.SessionID)+" is gone "+describeTarget(&s)); err != nil {
			o.Logger.Warn("the audit log could not be written", "error", err)
		}
	}
	s.RevokedAt = 0
	return s, o.Registry.remove(s.ID)
}

// revokeUnrecorded has the server delete a share whose withdrawal could not be recorded, for the reason why.
func (o *Outbox) revokeUnrecorded(ctx context.Context, s Share, why error) (Share, error) {
	if s.RemoteID == "" {
		return s, session.Errorf(session.CodeUnavailable, "the share is not withdrawn: %v", why)
	}
	if err := o.targetOf(&s).delete(ctx, &s); err != nil {
		return s, session.Errorf(session.CodeUnavailable, "the share is not withdrawn: %v; %v", err, why)
	}
	return s, session.Errorf(session.CodeUnavailable, "the server has deleted the share, but that is not recorded: %v; withdraw "+
		"it again when there is room", why)
}

// recordEnd records in the session, if it is there, that it is not published any more. It may be damaged, or the disk full:
// that keeps no share alive.
func (o *Outbox) recordEnd(ctx context.Context, s *Share) {
	there, err := store.ReadSession(ctx, o.Store, s.SessionID)
	if err == nil && there.Share != nil && there.Share.URL == s.URL {
		err = o.Record(ctx, s.SessionID, nil)
	}
	if err != nil && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		o.Logger.Warn("a session does not say yet that it is not shared any more", "session", s.SessionID, "error", err)
	}
}
