package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// FailureEvent is the SSE event name of a frame that says why the server ends a stream.
const FailureEvent = "effect/httpapi/stream/failure"

// silence is how long a stream may be quiet before it counts as broken: six heartbeats of the server.
const silence = 60 * time.Second

// ErrEnded says that the server ended a stream, when it shuts down say. Resume behind the last event that was seen.
var ErrEnded = errors.New("the stream ended")

// Follow yields the session's events with seq > after, those that exist and those to come, and between them live text
// (Fragment). It ends with an error that is ctx's, the server's, or a *TransportError; never without one unless the
// caller stops.
func (c *Client) Follow(ctx context.Context, id session.ID, after int64) iter.Seq2[Update, error] {
	return c.FollowOpened(ctx, id, after, nil)
}

// FollowOpened is Follow. It calls opened, unless that is nil, when the server has accepted the request.
func (c *Client) FollowOpened(ctx context.Context, id session.ID, after int64, opened func()) iter.Seq2[Update, error] {
	q := url.Values{"live": {"1"}}
	if after >= 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	return c.stream(ctx, call{method: http.MethodGet, path: apiPath("session", string(id), "event"), query: q}, opened)
}

// Tail is Follow without live text.
func (c *Client) Tail(ctx context.Context, id session.ID, after int64) iter.Seq2[Update, error] {
	q := url.Values{}
	if after >= 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	return c.stream(ctx, call{method: http.MethodGet, path: apiPath("session", string(id), "event"), query: q}, nil)
}

// Feed yields what happens in all sessions: events with position > after, and live text and notices. A negative after
// begins at the newest event.
func (c *Client) Feed(ctx context.Context, after int64) iter.Seq2[Update, error] {
	return c.FeedOpened(ctx, after, nil)
}

// FeedOpened is Feed. It calls opened, unless that is nil, when the server has accepted the request.
func (c *Client) FeedOpened(ctx context.Context, after int64, opened func()) iter.Seq2[Update, error] {
	q := url.Values{}
	if after >= 0 {
		q.Set("after", strconv.FormatInt(after, 10))
	}
	return c.stream(ctx, call{method: http.MethodGet, path: feedPath, query: q}, opened)
}

const feedPath = "/api/event"

// stream reads frames until the end. It calls opened, unless that is nil, before the first one.
func (c *Client) stream(ctx context.Context, k call, opened func()) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		// sctx ends the read if the server is silent; ctx is the caller's.
		sctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		k.header = http.Header{"Accept": {"text/event-stream"}}
		resp, err := c.send(sctx, k)
		if err != nil {
			yield(Update{}, err)
			return
		}
		defer resp.Body.Close()
		if opened != nil {
			opened()
		}
		// The server sends heartbeats, so a long silence means a broken connection.
		quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("no data arrived for %s", silence)) })
		defer quiet.Stop()
		for f, err := range sse.ReadFrames(&streamBody{r: resp.Body, quiet: quiet, pace: c.Pace}, sse.DefaultLimit) {
			if err != nil {
				if ctx.Err() == nil && sctx.Err() != nil {
					err = context.Cause(sctx)
				}
				yield(Update{}, k.transportError(ctx, err))
				return
			}
			u, ok, err := c.update(ctx, f)
			if err != nil {
				yield(Update{}, err)
				return
			}
			if u.Event != nil && k.path == feedPath {
				u.Event.Position, _ = strconv.ParseInt(f.ID, 10, 64)
			}
			if ok && !yield(u, nil) {
				return
			}
		}
		// The stream ended: by the caller, by the timer, or by the server.
		if ctx.Err() != nil {
			yield(Update{}, context.Cause(ctx))
			return
		}
		err = ErrEnded
		if sctx.Err() != nil { // the silence was ours to end, and the server was faster to close
			err = context.Cause(sctx)
		}
		yield(Update{}, &TransportError{Op: k.name(), Err: err})
	}
}

// streamBody is a body whose every byte resets the timer, and that is read no more often than its pace.
type streamBody struct {
	r     io.Reader
	quiet *time.Timer
	pace  time.Duration
	read  time.Time // when the last read ended
	large bool      // it read so much that more may wait
}

// largeRead is half of what net/http reads at a time.
const largeRead = 2 << 10

func (w *streamBody) Read(p []byte) (int, error) {
	if w.pace > 0 && !w.large {
		time.Sleep(w.pace - time.Since(w.read))
	}
	n, err := w.r.Read(p)
	if n > 0 {
		w.quiet.Reset(silence)
	}
	if w.pace > 0 {
		w.read, w.large = time.Now(), n >= largeRead
	}
	return n, err
}

// frame is the data of an SSE frame.
type frame struct {
	Type    session.Kind   `json:"type"`
	Durable *durable       `json:"durable,omitzero"`
	Data    jsontext.Value `json:"data"`
	Elided  bool           `json:"elided,omitzero"`
}

type durable struct {
	AggregateID session.ID `json:"aggregateID"`
	Seq         int64      `json:"seq"`
}

// update reads one frame; ok is false for one that is to be passed over.
func (c *Client) update(ctx context.Context, f sse.Frame) (u Update, ok bool, err error) {
	if f.Event == FailureEvent {
		return u, false, DecodeError(http.StatusInternalServerError, f.Data)
	}
	var w frame
	if err := json.Unmarshal(f.Data, &w, jsontext.AllowInvalidUTF8(true)); err != nil {
		return u, false, &TransportError{Op: "read a frame", Err: err}
	}
	switch {
	case w.Durable != nil && w.Elided:
		e, err := c.fetchLargeEvent(ctx, *w.Durable)
		return Update{Event: e}, true, err
	case w.Durable != nil:
		e, err := DecodeEvent(f.Data)
		return Update{Event: e}, true, err
	}
	if frag, ok := session.ParseFragment(w.Type, w.Data); ok {
		return Update{Fragment: &frag}, true, nil
	}
	var about struct {
		SessionID session.ID `json:"sessionID"`
	}
	_ = json.Unmarshal(w.Data, &about) // a notice may be about no session
	return Update{Notice: &Notice{Kind: string(w.Type), SessionID: about.SessionID, Data: w.Data.Clone()}}, true, nil
}

// fetchLargeEvent fetches an event that was too large for a frame.
func (c *Client) fetchLargeEvent(ctx context.Context, d durable) (*session.Event, error) {
	h, err := c.History(ctx, d.AggregateID, d.Seq-1, 1)
	if err != nil {
		return nil, err
	}
	if len(h.Data) == 0 || h.Data[0].Seq != d.Seq {
		return nil, &TransportError{
			Op:  "read a large event",
			Err: fmt.Errorf("event %d of %s no longer exists", d.Seq, d.AggregateID),
		}
	}
	return &h.Data[0], nil
}

// DecodeEvent reads the wire form of a durable event.
func DecodeEvent(b []byte) (*session.Event, error) {
	e := &session.Event{}
	if err := json.Unmarshal(b, e); err != nil {
		return nil, &TransportError{Op: "read an event", Err: err}
	}
	return e, nil
}
