// Package broadcast shares the work of event streams. A Broadcaster encodes each update of the log once for all
// readers, a RecentCache keeps what was encoded last, and a DeliveryTracker knows how far each stream has come.
//
// Nothing is pushed: every reader follows the log at its own pace and asks the Broadcaster for each update that it
// meets. A slow reader therefore loses nothing and delays no other reader. A reader that falls behind the cache encodes
// for itself.
package broadcast

import (
	"context"
	"errors"
	"iter"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Log is the event log as streams read it.
type Log interface {
	Follow(ctx context.Context, id session.ID, after int64) iter.Seq2[eventlog.Update, error]
	FollowAll(ctx context.Context, at eventlog.Mark) iter.Seq2[eventlog.Update, error]
	NewestMark() eventlog.Mark
	VerifyTail(r store.Reader, id session.ID) error
}

// Encoder encodes updates for a Broadcaster, which calls it from one goroutine at a time. It may keep state of
// sessions: the events of one session come in order and without gaps, but may begin anywhere.
type Encoder[T any] interface {
	EncodeEvent(ctx context.Context, e *session.Event) (T, error)
	EncodeFragment(ctx context.Context, f *session.Fragment) (T, error)
	EncodeNotice(ctx context.Context, n *eventlog.Notice) (T, error)
	// ReadEvents reads up to limit events of a session after a seq.
	ReadEvents(ctx context.Context, id session.ID, after int64, limit int) ([]session.Event, error)
	// Forget drops the state of one session, Reset that of all sessions.
	Forget(id session.ID)
	Reset()
}

// ErrBehind says that an update was encoded before and is no longer in the cache.
var ErrBehind = errors.New("the reader is behind the cached updates")

const (
	maxSessions = 1024 // whose order is tracked
	maxGap      = 256  // events that are encoded to close a gap between readers
)

// Broadcaster encodes each update once. The reader that meets an update first encodes it, the others get the same
// value. It is safe for concurrent use.
type Broadcaster[T any] struct {
	lock chan struct{} // capacity 1; guards the fields below, and can be waited for with a context

	encoder Encoder[T]
	readers int
	last    map[session.ID]int64 // seq of the newest encoded event of each session
	notice  int64                // number of the newest encoded notice
	recent  *RecentCache[key, T]
}

// key identifies an update.
type key struct {
	position     int64 // of an event
	notice       int64
	part         session.PartID // of a fragment, with its offset and size in the part
	offset, size int
}

// New returns a Broadcaster. The sizes of the encoded updates bound its cache.
func New[T any](e Encoder[T], size func(T) int) *Broadcaster[T] {
	return &Broadcaster[T]{
		lock: make(chan struct{}, 1), encoder: e, last: map[session.ID]int64{},
		recent: NewRecentCache[key](Bounds{Entries: 1024, Bytes: 4 << 20}, size),
	}
}

// AddReader and RemoveReader count the readers. When the last one leaves, the Broadcaster drops its state, because
// without readers updates pass unseen.
func (b *Broadcaster[T]) AddReader() { b.addReaders(1) }

// RemoveReader removes a reader that AddReader added.
func (b *Broadcaster[T]) RemoveReader() { b.addReaders(-1) }

func (b *Broadcaster[T]) addReaders(n int) {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	if b.readers += n; b.readers == 0 {
		b.encoder.Reset()
		clear(b.last)
		b.recent.Reset()
		b.notice = 0
	}
}

// Encode returns the encoded update. It returns ErrBehind if the update was encoded too long ago.
func (b *Broadcaster[T]) Encode(ctx context.Context, u eventlog.Update) (t T, err error) {
	select {
	case b.lock <- struct{}{}:
	case <-ctx.Done():
		return t, context.Cause(ctx)
	}
	defer func() { <-b.lock }()
	k := keyOf(u)
	if t, ok := b.recent.Get(k); ok {
		return t, nil
	}
	t, err = b.encodeNew(ctx, u)
	if err == nil {
		b.recent.Add(k, t)
	}
	return t, err
}

func keyOf(u eventlog.Update) key {
	switch {
	case u.Event != nil:
		return key{position: u.Event.Position}
	case u.Notice != nil:
		return key{notice: u.Notice.Number}
	case u.Fragment != nil:
		return key{part: u.Fragment.PartID, offset: u.Fragment.Offset, size: len(u.Fragment.Delta)}
	default:
		return key{}
	}
}

func (b *Broadcaster[T]) encodeNew(ctx context.Context, u eventlog.Update) (t T, err error) {
	switch {
	case u.Event != nil:
		return b.encodeEvent(ctx, u.Event)
	case u.Fragment != nil:
		return b.encoder.EncodeFragment(ctx, u.Fragment)
	case u.Notice != nil && u.Notice.Number <= b.notice:
		return t, ErrBehind
	case u.Notice != nil:
		b.notice = u.Notice.Number
		return b.encoder.EncodeNotice(ctx, u.Notice)
	default:
		return t, nil
	}
}

func (b *Broadcaster[T]) encodeEvent(ctx context.Context, e *session.Event) (t T, err error) {
	last, tracked := b.last[e.SessionID]
	deleted := e.Data.Kind() == session.KindDeleted
	switch {
	case !tracked || deleted:
	case e.Seq <= last:
		return t, ErrBehind
	case e.Seq > last+1:
		if err := b.closeGap(ctx, e, last); err != nil {
			return t, err
		}
	}
	t, err = b.encoder.EncodeEvent(ctx, e)
	if err != nil {
		return t, err
	}
	if deleted {
		delete(b.last, e.SessionID)
		return t, nil
	}
	if len(b.last) >= maxSessions {
		clear(b.last)
	}
	b.last[e.SessionID] = e.Seq
	return t, nil
}

// closeGap encodes the events between the last one and e. A reader that opened later begins with e; slower readers
// still have to come to the events in between.
func (b *Broadcaster[T]) closeGap(ctx context.Context, e *session.Event, last int64) error {
	if e.Seq-last > maxGap {
		b.encoder.Forget(e.SessionID)
		return nil
	}
	missed, err := b.encoder.ReadEvents(ctx, e.SessionID, last, int(e.Seq-last-1))
	for i := 0; i < len(missed) && err == nil; i++ {
		var t T
		if t, err = b.encoder.EncodeEvent(ctx, &missed[i]); err == nil {
			b.recent.Add(key{position: missed[i].Position}, t)
			b.last[e.SessionID] = missed[i].Seq
		}
	}
	return err
}
