package v1

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// eventHandlers streams events.
type eventHandlers struct{ *dependencies }

type subscription struct {
	Location    operation.Location
	LastEventID string `header:"Last-Event-ID"`
}

// subscribe streams the events of one directory.
func (h eventHandlers) subscribe(ctx context.Context, in subscription) (operation.Stream[busEvent], error) {
	newest, at, err := h.findStart(ctx, in.LastEventID)
	if err != nil {
		return nil, err
	}
	b := &busStream{dependencies: h.dependencies, directory: in.Location.Directory, newest: newest}
	return func(w http.ResponseWriter, r *http.Request) error {
		b.serve(w, r, b.directory, at)
		return nil
	}, nil
}

// subscribeGlobal streams the events of all directories, each with its directory. Durable events come a second time as
// a syncMessage.
func (h eventHandlers) subscribeGlobal(
	ctx context.Context, in struct {
		LastEventID string `header:"Last-Event-ID"`
	},
) (operation.Stream[eventEnvelope], error) {
	newest, at, err := h.findStart(ctx, in.LastEventID)
	if err != nil {
		return nil, err
	}
	b := &busStream{dependencies: h.dependencies, global: true, newest: newest}
	return func(w http.ResponseWriter, r *http.Request) error {
		b.serve(w, r, httpio.DefaultDirectory(r, h.Directory), at)
		return nil
	}, nil
}

// findStart returns where a stream starts: after the event that the client received last, or now, and the position of
// the newest event. It samples the log first, so that the client misses nothing from then on. An id that no frame of
// this store had, or one beyond the newest event, is of a server that was here before; the stream starts now, because
// clients would repeat a refused id for ever.
func (h eventHandlers) findStart(ctx context.Context, lastID string) (newest int64, at eventlog.Mark, err error) {
	at = h.Log.NewestMark()
	newest, err = store.Query(ctx, h.Store, func(rd store.Reader) (int64, error) { return rd.Head("") })
	at.Position = newest
	if after, invalid := strconv.ParseInt(lastID, 10, 64); invalid == nil && after >= 0 {
		// Deltas have no offset: a client that has received the beginning would show the text twice.
		at.Position, at.LiveEnd = min(after, newest), true
	}
	return newest, at, err
}

// busStream is one open stream of events.
type busStream struct {
	*dependencies

	out       *sse.Stream
	directory string // of the events; "" with global
	global    bool
	newest    int64 // position of the newest event when the stream opened

	// catchUp encodes for this stream alone while it is behind the updates that all streams share; nil otherwise.
	catchUp *broadcast.Broadcaster[*encodedUpdate]
}

// serve sends server.connected and then events until the client leaves. The last frame of a durable event has an id to
// resume with; deltas and statuses have none and are not repeated. A slow reader gets fewer and larger deltas and
// misses nothing; the connection of one that reads nothing for sse.WriteTimeout is broken, and so are all when the
// server stops: OpenCode's clients reconnect with their last id after a broken connection, but not after an orderly
// end.
func (b *busStream) serve(w http.ResponseWriter, r *http.Request, directory string, at eventlog.Mark) {
	ctx, end := b.long.Start(r.Context(), "")
	defer end()
	// Register with every source of frames first; the deferred calls run in reverse order.
	notices := b.notices.Subscribe() // before the response starts, which a client in this process sees at once
	defer b.branches.AddReader(ctx, directory)()
	ctx, b.out = sse.OpenQuiet(ctx, w)
	defer b.out.Close()
	b.updates.AddReader()
	defer b.updates.RemoveReader()
	b.out.SetHeartbeat(func() sse.Frame { return b.plainFrame("server.heartbeat") })
	delivery := b.deliveries.Open(at)
	defer b.deliveries.Close(delivery)
	if r.Method == http.MethodHead {
		b.notices.Unsubscribe(notices)
		return
	}
	// The first frame has the id of the start, so that a client can resume before it receives any event.
	first := b.plainFrame("server.connected")
	first.ID = strconv.FormatInt(at.Position, 10)
	err := b.out.Send(first, false)
	// Notices are not in the log: a goroutine sends them while the log is quiet.
	var relay sync.WaitGroup
	relay.Go(func() { notices.SendAll(b.sendNotice) })
	defer relay.Wait()
	defer b.notices.Unsubscribe(notices)
	// Follow the log until the client leaves, the server stops, or a write fails.
	for u, failed := range b.Log.FollowAll(ctx, at) {
		notices.SendWaiting(b.sendNotice) // those sent before the event was stored come before it
		if err = failed; err == nil {
			err = b.sendUpdate(ctx, u)
		}
		b.deliveries.RecordDelivery(delivery, u)
		if err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		b.Logger.ErrorContext(ctx, "event stream failed", "error", err)
	}
	b.out.BreakConnection()
}

// plainFrame returns the frame of an event without properties.
func (b *busStream) plainFrame(kind string) sse.Frame {
	return encodePlainFrame(b.IDs.New(session.PrefixEvent), kind, b.global)
}

// sendUpdate sends the events of an update. It leaves out events that are too large for a client: their text was sent
// in deltas, and the message contains it.
func (b *busStream) sendUpdate(ctx context.Context, u eventlog.Update) error {
	encoded, err := b.encodeUpdate(ctx, u)
	if err != nil || !b.global && encoded.directory != b.directory {
		return err
	}
	frames, err := encoded.encodeOnce(b.global)
	if err != nil {
		return err
	}
	for i, f := range frames {
		err := b.out.Send(f, i < len(frames)-1)
		if errors.Is(err, sse.ErrFrameTooLarge) {
			b.Logger.WarnContext(ctx, "left out an event that is too large for the stream",
				"session", encoded.session, "bytes", len(f.Data))
			err = b.out.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encodeUpdate returns the shared encoding of an update, or, while the stream is behind, one that it makes from the
// rows as they are now.
func (b *busStream) encodeUpdate(ctx context.Context, u eventlog.Update) (*encodedUpdate, error) {
	if u.Event == nil || u.Event.Position > b.newest {
		encoded, err := b.updates.Encode(ctx, u)
		if !errors.Is(err, broadcast.ErrBehind) {
			b.catchUp = nil
			return encoded, err
		}
	}
	if b.catchUp == nil {
		b.catchUp = newUpdates(b.Store, b.IDs)
	}
	return b.catchUp.Encode(ctx, u)
}

// sendNotice sends a notice, if it is one of the stream's directory.
func (b *busStream) sendNotice(n notice) {
	for _, n := range b.expandNotice(n) {
		if !b.global && n.directory != b.directory {
			continue
		}
		var v any = busEvent{b.IDs.New(session.PrefixEvent), n.kind, n.properties}
		if b.global {
			v = eventEnvelope{Directory: n.directory, Project: n.project, Payload: v}
		}
		if f, err := encodeFrame(v); err == nil {
			_ = b.out.Send(f, false) // a client that has disconnected ends the stream
		}
	}
}

// globalDirectory is the directory of events that belong to none.
const globalDirectory = "global"

// expandNotice returns the notices that a stream sends for one: kindGlobalDisposed becomes kindDisposed of the stream's
// directory, or, on a global stream, kindDisposed of the directory that it names and itself. OpenCode's clients wait
// for either.
func (b *busStream) expandNotice(n notice) []notice {
	if n.kind != kindGlobalDisposed {
		return []notice{n}
	}
	if !b.global {
		return []notice{{b.directory, "", kindDisposed, instance{b.directory}}}
	}
	all := notice{directory: globalDirectory, kind: n.kind, properties: n.properties}
	if n.directory == "" {
		return []notice{all}
	}
	return []notice{{n.directory, n.project, kindDisposed, instance{n.directory}}, all}
}
