package share

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Config configures an Outbox.
type Config struct {
	Registry  *Registry
	Store     store.Viewer
	Log       follower.Log
	Transport http.RoundTripper // to share servers
	Owner     Owner
	Logger    *slog.Logger
}

// Owner is the process that owns the sessions.
type Owner interface {
	// RecordShare records in the session where it is shared; nil means that it is not shared.
	RecordShare(ctx context.Context, id session.ID, s *session.Share) error
	// Audit adds an entry to the audit log. A session is not shared if that fails.
	Audit(ctx context.Context, what string) error
	// ListSecrets returns the known secrets at the location of the session. After an error nothing is sent.
	ListSecrets(ctx context.Context, s *session.Session) ([]string, error)
	// ListModels describes those of the models that are known at the location of the session, in this order.
	ListModels(ctx context.Context, s *session.Session, refs []session.ModelRef) ([]opencode.ModelInfo, error)
	// MayShare reports whether the configuration allows to share the session. If not, nothing more is sent.
	MayShare(ctx context.Context, s *session.Session) bool
	// MakeRoom frees space for a revocation, if cause says that the disk is full. It reports whether it freed something.
	MakeRoom(cause error) bool
}

// Outbox shares the sessions of a store, keeps share servers up to date, and revokes shares. One process has the outbox
// of a store.
type Outbox struct {
	Config

	wake        chan struct{} // wakes Run; holds one
	schedule    schedule
	workers     sync.WaitGroup // of Run
	readFailure string         // the last one that Run has logged

	mu      sync.Mutex // guards the rest
	busy    map[string]*claim
	running int // workers of Run
}

// New returns an outbox.
func New(c Config) *Outbox {
	return &Outbox{Config: c, wake: make(chan struct{}, 1), busy: map[string]*claim{}}
}

// signal wakes Run.
func (o *Outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// saveProgress stores how far servers are up to date, and which shares are marked.
func (o *Outbox) saveProgress(isDurable bool) error {
	return o.Registry.saveProgress(o.schedule.list(), isDurable)
}

// mark has Run look at a share that is about to be added or changed. The mark is durable: if the process ends before
// the change is complete, the next one completes it.
func (o *Outbox) mark(id string) error {
	o.schedule.add(id)
	return o.saveProgress(true)
}

// remove removes a share.
func (o *Outbox) remove(id string) error {
	err := o.Registry.remove(id)
	if err == nil {
		o.schedule.remove(id)
	}
	return err
}

// claim is the right to work on a share, which one goroutine has at a time.
type claim struct {
	cancel context.CancelFunc // of the work
	done   chan struct{}      // closed at the end
}

// claim claims a share, unless it is claimed or, for a worker of Run, maxWorkers run. ctx is the context of the work, which
// interrupt cancels.
func (o *Outbox) claim(ctx context.Context, id string, isWorker bool) (_ context.Context, release func(), ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy[id] != nil || isWorker && o.running >= maxWorkers {
		return ctx, nil, false
	}
	if isWorker {
		o.running++
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &claim{cancel, make(chan struct{})}
	o.busy[id] = c
	return ctx, func() {
		cancel()
		o.mu.Lock()
		delete(o.busy, id)
		if isWorker {
			o.running--
		}
		o.mu.Unlock()
		close(c.done)
		o.signal() // the share may be due again, and another one may get the worker
	}, true
}

// interrupt cancels the work on a share, waits for its end, and claims the share.
func (o *Outbox) interrupt(ctx context.Context, id string) (context.Context, func(), error) {
	for {
		if ctx, release, ok := o.claim(ctx, id, false); ok {
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

// isEnding reports whether ctx was cancelled, because the process ends or a request interrupts the work: that is not a
// failure of the server.
func isEnding(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// Options say how a session is shared.
type Options struct {
	Target  string        // address of the share server; "" if cairn serves the page
	PageURL string        // address of cairn's page server, if cairn serves the page
	Expires time.Duration // 0 without an expiry
	// Extend sets the expiry of a session that is shared already.
	Extend bool
}

// newShare returns a new share of a session.
func (options Options) newShare(id session.ID) Share {
	now := time.Now()
	s := Share{ID: newID(), SessionID: id, Created: now.UnixMilli(), Target: options.Target, SyncedSeq: -1}
	if options.Expires > 0 {
		s.Expires = now.Add(options.Expires).UnixMilli()
	}
	if !s.isRemote() {
		s.URL = options.PageURL + "/s/" + s.ID
	}
	return s
}

// ShareLater shares a session without waiting for the server, and retries.
func (o *Outbox) ShareLater(ctx context.Context, id session.ID, options Options) error {
	s := options.newShare(id)
	s.Auto = true
	_, err := o.add(ctx, s)
	o.signal()
	return err
}

// add records a new share before its server is contacted. If the session has an active or pending share, it returns
// that one.
func (o *Outbox) add(ctx context.Context, s Share) (Share, error) {
	if err := o.mark(s.ID); err != nil {
		o.schedule.remove(s.ID)
		return s, err
	}
	current, err := o.Registry.add(s, func() error {
		return o.Owner.Audit(ctx, "share "+string(s.SessionID)+" "+describeTarget(&s))
	})
	if err != nil || current.ID != s.ID {
		o.schedule.remove(s.ID)
	}
	return current, err
}

// Share shares a session, and returns when it has an address; a server gets its content later. If the session is shared
// already, it returns that share. If ctx ends before the server has answered, the new share is revoked.
func (o *Outbox) Share(ctx context.Context, id session.ID, options Options) (Share, error) {
	caller := ctx
	// Return the active share, if nothing is to be changed. One that has expired is revoked first.
	current, found, err := o.Registry.FindSession(id)
	isActive := found && current.IsActive(time.Now())
	if err == nil && !isActive {
		err = o.revokeEarlier(ctx, id, options.Target)
	}
	if err != nil || isActive && !options.Extend {
		return current, err
	}
	// Record the share. The result is an earlier one if that is active, automatic and pending, or left behind by a process
	// that ended.
	added := options.newShare(id)
	s, err := o.add(ctx, added)
	if err != nil {
		return s, err
	}
	// Claim it, after a create that is under way. It may have been revoked in between.
	ctx, release, err := o.interrupt(ctx, s.ID)
	if err != nil {
		return s, err
	}
	defer release()
	if s, found, err = o.Registry.Find(s.ID); err == nil && (!found || s.RevokedAt > 0) {
		err = newRevokedError(id)
	}
	if err != nil {
		return s, err
	}
	// Get its address from the server. Without one a manual share is removed: it is not retried.
	if s, err = o.open(context.WithoutCancel(ctx), s); err != nil {
		if s.RemoteID == "" && !s.Auto {
			o.audit(ctx, "not shared: "+string(id)+" "+describeTarget(&added))
			err = errors.Join(err, o.remove(s.ID))
		}
		return s, err
	}
	if s.ID == added.ID && caller.Err() != nil { // nobody gets the address
		if s, err = o.recordRevocation(context.WithoutCancel(ctx), s); err == nil {
			err = context.Cause(caller)
		}
		return s, err
	}
	// Set the expiry of an earlier one, then record the address in the session.
	if options.Extend && s.ID != added.ID {
		s, err = o.extend(ctx, s, added.Expires)
	}
	if err == nil && s.RevokedAt > 0 {
		err = newRevokedError(id)
	}
	if err != nil {
		return s, err
	}
	o.schedule.add(s.ID) // Run may have looked at it before it had an address
	err = o.record(ctx, &s)
	if err != nil && !isEnding(ctx) && !errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		// It is shared nevertheless, and the caller must know that. Run records it later.
		o.Logger.Warn("a session could not record yet that it is shared", "session", s.SessionID, "error", err)
		return s, nil
	}
	return s, err
}

// newRevokedError returns the error of a request to share a session whose share another request revokes.
func newRevokedError(id session.ID) error {
	return session.Errorf(session.CodeConflict, "another request removed the share of session %q; try again", id)
}

// extend sets the expiry of a share, which is claimed.
func (o *Outbox) extend(ctx context.Context, s Share, expires int64) (Share, error) {
	if err := o.Owner.Audit(ctx, "new expiry of the share of "+string(s.SessionID)+" "+describeTarget(&s)); err != nil {
		return s, err
	}
	if err := o.mark(s.ID); err != nil {
		return s, err
	}
	return o.Registry.change(s.ID, func(s *Share) { s.Expires = expires })
}

// record records in the session where it is shared, unless the share was revoked in the meantime.
func (o *Outbox) record(ctx context.Context, s *Share) error {
	if s.RevokedAt > 0 {
		return nil
	}
	return o.Owner.RecordShare(ctx, s.SessionID, &session.Share{URL: s.URL, Expires: s.Expires})
}

// open gets the address of a share from its server, unless it has one. ctx is not one that another request cancels: if it
// ends before the answer, the server may have a share whose secret nobody knows. createTimeout bounds the request, too.
func (o *Outbox) open(ctx context.Context, s Share) (Share, error) {
	if s.URL != "" {
		return s, nil
	}
	c, err := o.targetOf(&s).create(ctx, s.SessionID)
	if err != nil {
		return s, session.Errorf(session.CodeConflict, "share session %q: %v", s.SessionID, err)
	}
	opened, err := o.Registry.change(s.ID, func(s *Share) {
		s.RemoteID, s.URL, s.Secret = c.ID, c.URL, c.Secret
		s.noteSuccess()
	})
	if err != nil { // delete it now: later the secret is unknown
		s.RemoteID, s.Secret = c.ID, c.Secret
		return Share{ID: s.ID, Auto: s.Auto}, errors.Join(err, o.targetOf(&s).delete(ctx, &s))
	}
	return opened, nil
}

func (o *Outbox) targetOf(s *Share) target { return target{s.Target, o.Transport} }

// describeTarget describes where a share is, for the audit log.
func describeTarget(s *Share) string {
	if s.isRemote() {
		return "at " + s.Target
	}
	return "on pages of cairn"
}
