package v2

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// publicKinds are those that clients of OpenCode know.
func publicKinds() []session.Kind {
	var ks []session.Kind
	for _, k := range session.Kinds() {
		if k.IsPublic() {
			ks = append(ks, k)
		}
	}
	return ks
}

// history is a page of the log as it is stored. The kinds are chosen before the limit counts.
func (a *API) history(w http.ResponseWriter, r *http.Request) error {
	limit, err := httpio.ReadNumber(r, "limit", httpio.Range{Default: defaultPage, Min: 1, Max: maxHistory})
	if err != nil {
		return err
	}
	after, err := httpio.ReadNumber(r, "after", httpio.Range{Default: -1, Min: -1, Max: maxSeq})
	if err != nil {
		return err
	}
	var kinds []session.Kind
	if !full(r) {
		kinds = publicKinds()
	}
	rows, err := view(r.Context(), a, func(rd store.Reader) ([]store.EventRow, error) {
		newest, err := headOf(rd, sessionOf(r))
		if err == nil {
			err = ahead(after, newest)
		}
		if err != nil {
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
	return httpio.WriteJSON(w, http.StatusOK, append(b, '}'))
}

// maxSeq keeps a cursor's successor a number.
const maxSeq = 1<<53 - 1

// cursorOf reads where a stream shall go on: after, else Last-Event-ID, else def.
func cursorOf(r *http.Request, def int64) (int64, error) {
	if r.URL.Query().Get("after") != "" {
		return httpio.ReadNumber(r, "after", httpio.Range{Default: def, Min: -1, Max: maxSeq})
	}
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < -1 || n > maxSeq {
		return 0, httpio.Invalid("headers", "Last-Event-ID", "Last-Event-ID must be the id of a frame of this stream, got %q", httpio.Clip(s, 40))
	}
	return n, nil
}

// headOf is the seq of the newest event of a session that must exist.
func headOf(rd store.Reader, id session.ID) (int64, error) {
	if _, err := mustSession(rd, id); err != nil {
		return 0, err
	}
	return rd.Head(id)
}

// ahead refuses a cursor that no event of ours has reached yet: it belongs to other data (spec/guarantees G13, against
// §22.3 of spec/v2, by which a reader waits for what may never come).
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
	newest, err := view(r.Context(), a, func(rd store.Reader) (int64, error) { return headOf(rd, sessionOf(r)) })
	if err == nil {
		err = ahead(after, newest)
	}
	if err != nil {
		return err
	}
	ctx, end := a.long.Start(r, sessionOf(r))
	defer end()
	ctx, s := sse.Open(ctx, w)
	defer s.Close()
	if r.Method == http.MethodHead {
		return nil
	}
	t := &teller{api: a, stream: s, all: full(r), live: r.URL.Query().Get("live") == "1", newest: newest, cursor: after}
	for u, err := range a.log.Follow(ctx, sessionOf(r), after) {
		if err == nil {
			err = t.tell(u)
		}
		if err != nil {
			a.breakOff(ctx, s, t.id(), err)
			break
		}
	}
	if why := context.Cause(ctx); errors.Is(why, &session.Error{Code: session.CodeNotFound}) {
		a.breakOff(context.WithoutCancel(ctx), s, t.id(), why) // the session was deleted
		return nil
	}
	s.Break()
	return nil
}

// teller is one reader of one session.
type teller struct {
	api       *API
	stream    *sse.Stream
	all, live bool
	newest    int64 // up to this seq more is known to follow at once
	cursor    int64 // seq of the newest durable event that was passed, told or not
}

// id is what a reader resumes with: every frame bears it, live ones that of the durable event before. Behind that
// event live text is repeated as far as it has come, so that nothing is missed.
func (t *teller) id() string { return strconv.FormatInt(t.cursor, 10) }

func (t *teller) tell(u eventlog.Update) error {
	if u.Event != nil {
		t.cursor = u.Event.Seq
	}
	switch {
	case u.Event != nil && (t.all || u.Event.Data.Kind().IsPublic()):
		b, err := t.api.recent.frame(u.Event)
		if err != nil {
			return err
		}
		return t.stream.Send(sse.Frame{ID: t.id(), Data: b}, u.Event.Seq < t.newest)
	case u.Event != nil && u.Event.Seq >= t.newest:
		return t.stream.Flush()
	case u.Fragment != nil && t.live:
		return t.api.sendFragment(t.stream, t.id(), u.Fragment)
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
func (a *API) breakOff(ctx context.Context, s *sse.Stream, id string, err error) {
	if ctx.Err() != nil {
		return
	}
	e, ref := httpio.PublicError(err), ""
	if e.Code == session.CodeInternal {
		ref = httpio.NewRef()
		a.logger.ErrorContext(ctx, "stream failed", "ref", ref, "error", err)
	}
	_, body := api.EncodeError(e, api.ErrorContext{Ref: ref})
	_ = s.Send(sse.Frame{ID: id, Event: api.FailureEvent, Data: body}, false)
}
