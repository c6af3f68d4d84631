package v2

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// feed streams what happens in all sessions, from now on or from behind a position. Its first frame is
// server.connected. With a location in the query it tells of that directory only.
func (a *API) feed(w http.ResponseWriter, r *http.Request) error {
	at := a.log.NewestMark() // first: whoever is told that the stream stands misses no notice from then on
	after, err := cursorOf(r, -1)
	if err != nil {
		return err
	}
	newest, err := view(r.Context(), a, func(rd store.Reader) (int64, error) { return rd.Head("") })
	if err == nil {
		err = ahead(after, newest)
	}
	f := &feeder{api: a, all: full(r), newest: newest, places: map[session.ID]*session.Location{}}
	if err == nil && r.URL.Query().Has("location[directory]") {
		var l session.Location
		l, _, err = a.place(r)
		f.only = l.Directory
	}
	if err != nil {
		return err
	}
	if after < 0 {
		after = newest // not "the newest when the first frame has left": nothing may fall in between
	}
	f.cursor, at.Position = after, after
	ctx, end := a.long.Start(r, "")
	defer end()
	ctx, f.stream = sse.Open(ctx, w)
	defer f.stream.Close()
	if r.Method == http.MethodHead {
		return nil
	}
	err = send(f.stream, f.id(), frame{id: a.ids.New(session.PrefixEvent), kind: "server.connected", data: jsontext.Value("{}")}, false)
	for u, failed := range a.log.FollowAllFrom(ctx, at) {
		if err = failed; err == nil {
			err = f.tell(ctx, u)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		a.breakOff(ctx, f.stream, f.id(), err)
	}
	f.stream.Break()
	return nil
}

// feeder is one reader of all sessions.
type feeder struct {
	api    *API
	stream *sse.Stream
	all    bool
	only   string // directory; "" all
	newest int64
	cursor int64                            // position of the newest durable event that was told
	places map[session.ID]*session.Location // nil values: sessions that are gone
}

// id is what a reader resumes with: every frame bears it, live ones that of the durable frame before.
func (f *feeder) id() string { return strconv.FormatInt(f.cursor, 10) }

func (f *feeder) tell(ctx context.Context, u eventlog.Update) error {
	switch {
	case u.Event != nil:
		return f.event(ctx, u.Event)
	case u.Fragment != nil:
		l, err := f.place(ctx, u.Fragment.SessionID)
		if err != nil || !f.wanted(l) {
			return err
		}
		return f.api.sendFragment(f.stream, f.id(), u.Fragment)
	case u.Notice != nil:
		return f.notice(ctx, u.Notice)
	default:
		return nil
	}
}

func (f *feeder) event(ctx context.Context, e *session.Event) error {
	if _, moved := e.Data.(*session.Moved); moved {
		delete(f.places, e.SessionID)
	}
	f.cursor = e.Position
	more := e.Position < f.newest
	fr, ok, err := f.frame(e)
	if err != nil {
		return err
	}
	if d, gone := e.Data.(*session.Deleted); gone {
		delete(f.places, e.SessionID)
		fr.location = &d.Info.Location
	} else if ok {
		fr.location, err = f.place(ctx, e.SessionID)
	}
	switch {
	case err != nil:
		return err
	case ok && f.wanted(fr.location):
		return send(f.stream, strconv.FormatInt(e.Position, 10), fr, more)
	case !more:
		return f.stream.Flush()
	default:
		return nil
	}
}

// frame renders the event: as it is, or asks, their replies, todos and ends of sessions as OpenCode's clients know them.
func (f *feeder) frame(e *session.Event) (fr frame, ok bool, err error) {
	if f.all || e.Data.Kind().IsPublic() {
		fr, err = eventFrame(e)
		return fr, true, err
	}
	kind, v, ok := e.PublicForm()
	if !ok {
		return fr, false, nil
	}
	fr.kind = kind
	fr.id, fr.durable = string(e.ID), &eventRef{e.SessionID, e.Seq, e.Version}
	fr.data, err = httpio.Encode(v)
	return fr, true, err
}

func (f *feeder) notice(ctx context.Context, n *eventlog.Notice) error {
	fr := frame{id: f.api.ids.New(session.PrefixEvent), kind: session.Kind(n.Kind), data: n.Data}
	if n.Kind == "session.status" && !f.all {
		fr.data = plainStatus(n.Data)
	}
	if n.SessionID == "" {
		return send(f.stream, f.id(), fr, false)
	}
	var err error
	if fr.location, err = f.place(ctx, n.SessionID); err != nil {
		return err
	}
	if fr.location == nil || f.wanted(fr.location) { // that a session is gone is told to everybody
		return send(f.stream, f.id(), fr, false)
	}
	return nil
}

// plainStatus shows the statuses that OpenCode's clients do not know as busy.
func plainStatus(v jsontext.Value) jsontext.Value {
	var n struct {
		SessionID session.ID     `json:"sessionID"`
		Status    jsontext.Value `json:"status"`
	}
	var s api.Status
	if json.Unmarshal(v, &n) != nil || json.Unmarshal(n.Status, &s) != nil {
		return v
	}
	switch s.Type {
	case "idle", "busy", "retry":
		return v
	}
	n.Status = jsontext.Value(`{"type":"busy"}`)
	if b, err := httpio.Encode(n); err == nil {
		return b
	}
	return v
}

func (f *feeder) wanted(l *session.Location) bool {
	return f.only == "" || (l != nil && l.Directory == f.only)
}

// maxPlaces bounds what a reader remembers.
const maxPlaces = 1024

// place returns the session's location, nil if the session is gone.
func (f *feeder) place(ctx context.Context, id session.ID) (*session.Location, error) {
	if l, ok := f.places[id]; ok {
		return l, nil
	}
	l, err := view(ctx, f.api, func(rd store.Reader) (*session.Location, error) {
		s, ok, err := rd.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		return &s.Location, nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.places) >= maxPlaces {
		clear(f.places)
	}
	f.places[id] = l
	return l, nil
}
