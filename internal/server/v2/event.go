package v2

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// publicKinds are those that clients of OpenCode know.
func publicKinds() []session.Kind {
	var ks []session.Kind
	for _, k := range session.Kinds() {
		if k.Public() {
			ks = append(ks, k)
		}
	}
	return ks
}

// history is a page of the log as it is stored. The kinds are chosen before the limit counts.
func (a *API) history(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", span{defaultPage, 1, maxHistory})
	if err != nil {
		return err
	}
	after, err := number(r, "after", span{-1, -1, maxSeq})
	if err != nil {
		return err
	}
	var kinds []session.Kind
	if !full(r) {
		kinds = publicKinds()
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.Row, error) {
		if _, err := mustSession(rd, sessionOf(r)); err != nil {
			return nil, err
		}
		return rd.Events(sessionOf(r), after, int(limit)+1, kinds...)
	})
	if err != nil {
		return err
	}
	more := len(rows) > int(limit)
	if more {
		rows = rows[:limit]
	}
	b := []byte(`{"data":[`)
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		f := frame{id: string(row.ID), kind: row.Kind, durable: &eventRef{row.SessionID, row.Seq, row.Version}, data: row.Data}
		b = f.append(b)
	}
	b = strconv.AppendBool(append(b, `],"hasMore":`...), more)
	return writeJSON(w, http.StatusOK, append(b, '}'))
}

// maxSeq keeps a cursor's successor a number.
const maxSeq = 1<<53 - 1

// cursorOf reads where a stream shall go on: after, else Last-Event-ID, else def.
func cursorOf(r *http.Request, def int64) (int64, error) {
	if r.URL.Query().Get("after") != "" {
		return number(r, "after", span{def, -1, maxSeq})
	}
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -1 || n > maxSeq {
		return 0, bad("headers", "Last-Event-ID", "Last-Event-ID must be the id of a frame of this stream, got %q", clip(s, 40))
	}
	return n, nil
}

// ahead refuses a cursor behind which there is nothing yet: it belongs to other data than ours (spec/guarantees G13).
func ahead(after, head int64) error {
	if after <= head {
		return nil
	}
	e := session.Errorf(session.CodeConflict, "the cursor %d is ahead of the newest event, %d; it comes from other data", after, head).At("after")
	e.Kind, e.ID = api.KindCursor, strconv.FormatInt(head, 10)
	return e
}

// events streams a session: what there is behind the cursor, and then what comes; with live=1 also live text.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	after, err := cursorOf(r, -1)
	if err != nil {
		return err
	}
	newest, err := view(r.Context(), a, func(rd store.Reader) (int64, error) {
		if _, err := mustSession(rd, sessionOf(r)); err != nil {
			return 0, err
		}
		return rd.Head(sessionOf(r))
	})
	if err == nil {
		err = ahead(after, newest)
	}
	if err != nil {
		return err
	}
	ctx, end := a.long.begin(r.Context(), sessionOf(r))
	defer end()
	ctx, s := sse.Open(ctx, w)
	defer s.Close()
	if r.Method == http.MethodHead {
		return nil
	}
	all, live := full(r), r.URL.Query().Get("live") == "1"
	for u, err := range a.log.Follow(ctx, sessionOf(r), after) {
		if err == nil {
			err = a.tell(s, u, telling{all: all, live: live, newest: newest})
		}
		if err != nil {
			a.breakOff(ctx, s, err)
			return nil
		}
	}
	if why := context.Cause(ctx); errors.Is(why, &session.Error{Code: session.CodeNotFound}) {
		a.breakOff(context.WithoutCancel(ctx), s, why) // the session was deleted
	}
	return nil
}

// telling says what of a session's updates is sent, and up to which seq more is known to follow at once.
type telling struct {
	all, live bool
	newest    int64
}

func (a *API) tell(s *sse.Stream, u eventlog.Update, t telling) error {
	switch {
	case u.Event != nil && (t.all || u.Event.Data.Kind().Public()):
		b, err := a.recent.frame(u.Event)
		if err != nil {
			return err
		}
		return s.Send(sse.Frame{ID: strconv.FormatInt(u.Event.Seq, 10), Data: b}, u.Event.Seq < t.newest)
	case u.Event != nil && u.Event.Seq >= t.newest:
		return s.Flush()
	case u.Fragment != nil && t.live:
		return a.sendFragment(s, "", u.Fragment)
	default:
		return nil
	}
}

// sendFragment sends live text under the id of the durable frame before it: it moves no cursor.
func (a *API) sendFragment(s *sse.Stream, id string, f *session.Fragment) error {
	frames, err := a.fragmentFrames(f)
	for _, fr := range frames {
		if err := send(s, id, fr, false); err != nil {
			return err
		}
	}
	return err
}

func send(s *sse.Stream, id string, f frame, more bool) error {
	return s.Send(sse.Frame{ID: id, Data: f.fit().append(nil)}, more)
}

// breakOff says why the stream ends early, if anybody still listens.
func (a *API) breakOff(ctx context.Context, s *sse.Stream, err error) {
	if ctx.Err() != nil {
		return
	}
	e, ref := known(err), ""
	if e.Code == session.CodeInternal {
		ref = newRef()
		a.logger.ErrorContext(ctx, "stream failed", "ref", ref, "error", err)
	}
	_, body := api.EncodeError(e, api.ErrorContext{Ref: ref})
	_ = s.Send(sse.Frame{Event: api.FailureEvent, Data: body}, false)
}
