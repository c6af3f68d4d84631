package v2

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// eventHandlers streams events and lists the log.
type eventHandlers struct{ *dependencies }

// maxSeq is the largest cursor: the largest integer that JavaScript represents exactly.
const maxSeq = 1<<53 - 1

// startIn is the start of a stream: after the cursor of the query, else after the last frame that the client received.
type startIn struct {
	After  *int64 `query:"after" min:"-1"`
	LastID string `header:"Last-Event-ID"`
}

// findCursor returns where the stream starts, -1 if the request does not say.
func (in startIn) findCursor() (int64, error) {
	switch {
	case in.After != nil:
		return *in.After, nil
	case in.LastID == "":
		return -1, nil
	}
	n, err := strconv.ParseInt(in.LastID, 10, 64)
	if err != nil || n < -1 || n > maxSeq {
		return 0, httpio.NewInvalid("headers", "Last-Event-ID",
			"Last-Event-ID must be the id of a frame of this stream, got %q", session.ClipText(in.LastID, 40))
	}
	return n, nil
}

// subscribeSession streams the events of a session: those after the cursor, and then new ones; with live=1 also live
// text.
func (h eventHandlers) subscribeSession(ctx context.Context, in struct {
	sessionIn
	startIn
	Live string `query:"live"`
	All  allFields
},
) (operation.Stream[wireEvent], error) {
	after, err := in.findCursor()
	if err != nil {
		return nil, err
	}
	newest, err := store.Query(ctx, h.Store, func(rd store.Reader) (int64, error) { return readHead(rd, in.SessionID) })
	if err == nil {
		err = checkCursor(after, newest)
	}
	s := &sessionStream{dependencies: h.dependencies, all: in.All, live: in.Live == "1", newest: newest, cursor: after}
	return func(w http.ResponseWriter, r *http.Request) error {
		s.serve(w, r, in.SessionID)
		return nil
	}, err
}

// sessionStream is an open stream of one session.
type sessionStream struct {
	*dependencies

	out    *sse.Stream
	all    allFields
	live   bool
	newest int64 // events up to this seq are followed by further ones at once
	cursor int64 // seq of the newest durable event that was passed, whether it was sent or not
}

func (s *sessionStream) serve(w http.ResponseWriter, r *http.Request, id session.ID) {
	ctx, end := s.long.Start(r.Context(), id)
	defer end()
	ctx, s.out = sse.Open(ctx, w)
	defer s.out.Close()
	if r.Method == http.MethodHead {
		return
	}
	for u, err := range s.Log.Follow(ctx, id, s.cursor) {
		if err == nil {
			err = s.send(u)
		}
		if err != nil {
			s.sendFailure(ctx, s.out, s.id(), err)
			break
		}
	}
	if cause := context.Cause(ctx); errors.Is(cause, &session.Error{Code: session.CodeNotFound}) {
		s.sendFailure(context.WithoutCancel(ctx), s.out, s.id(), cause) // the session was deleted
		return
	}
	s.out.BreakConnection()
}

// id is the id of every frame: the cursor with which a reader resumes. Live frames have that of the durable event
// before them; a resumed stream repeats live text from there, so that nothing is missed.
func (s *sessionStream) id() string { return strconv.FormatInt(s.cursor, 10) }

// send sends an update if the client wants its kind.
func (s *sessionStream) send(u eventlog.Update) error {
	if u.Event != nil {
		s.cursor = u.Event.Seq
	}
	switch {
	case u.Event != nil && (bool(s.all) || u.Event.Data.Kind().IsPublic()):
		b, err := s.frames.encode(u.Event)
		if err != nil {
			return err
		}
		return s.out.Send(sse.Frame{ID: s.id(), Data: b}, u.Event.Seq < s.newest)
	case u.Event != nil && u.Event.Seq >= s.newest:
		return s.out.Flush()
	case u.Fragment != nil && s.live:
		return s.sendFragment(s.out, s.id(), u.Fragment)
	default:
		return nil
	}
}

// sendFragment sends live text under the id of the durable frame before it.
func (d *dependencies) sendFragment(out *sse.Stream, id string, f *session.Fragment) error {
	frames, err := newFragmentFrames(d.IDs, f)
	for _, fr := range frames {
		if err := sendFrame(out, id, fr, false); err != nil {
			return err
		}
	}
	return err
}

func sendFrame(out *sse.Stream, id string, f eventFrame, more bool) error {
	return out.Send(sse.Frame{ID: id, Data: f.fitFrame().append(nil)}, more)
}

// sendFailure sends why the stream ends early, if the client is still connected.
func (d *dependencies) sendFailure(ctx context.Context, out *sse.Stream, id string, err error) {
	if ctx.Err() != nil {
		return
	}
	e, ref := httpio.PublicError(err), ""
	if e.Code == session.CodeInternal {
		ref = httpio.NewRef()
		d.Logger.ErrorContext(ctx, "stream failed", "ref", ref, "error", err)
	}
	_, body := api.EncodeError(e, api.ErrorContext{Ref: ref})
	_ = out.Send(sse.Frame{ID: id, Event: api.FailureEvent, Data: body}, false)
}
