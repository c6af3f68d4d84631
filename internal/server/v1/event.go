package v1

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

func eventRoutes() []Route {
	return []Route{
		{get, "/event", "event.subscribe", (*API).events},
		{get, "/global/event", "global.event", (*API).globalEvents},
	}
}

// events streams what happens in one directory.
func (a *API) events(w http.ResponseWriter, r *http.Request) error {
	l, err := a.locate(r)
	if err != nil {
		return err
	}
	return a.stream(w, r, &bus{api: a, only: l.Directory})
}

// globalEvents streams what happens in all directories, each event with its own, and those that OpenCode keeps a second
// time in the form in which it syncs them.
func (a *API) globalEvents(w http.ResponseWriter, r *http.Request) error {
	return a.stream(w, r, &bus{api: a, global: true})
}

// stream sends server.connected and then what happens, from now on or from behind the event that Last-Event-ID names, until
// the client leaves. The last frame of what is kept bears an id to resume with; deltas and statuses bear none and are not
// repeated. A reader that is slow gets fewer and larger deltas, nothing less.
func (a *API) stream(w http.ResponseWriter, r *http.Request, b *bus) error {
	at := a.log.Newest() // first: whoever is told that the stream stands misses nothing from then on
	newest, err := view(r.Context(), a, func(rd store.Reader) (int64, error) { return rd.FeedHead() })
	if err != nil {
		return err
	}
	after := newest
	if s := r.Header.Get("Last-Event-ID"); s != "" {
		if after, err = strconv.ParseInt(s, 10, 64); err != nil || after < 0 || after > newest {
			return exchange.Bad("headers", "Last-Event-ID", "Last-Event-ID must be the id of a frame of this stream, got %q", exchange.Clip(s, 40))
		}
	}
	ctx, end := a.long.Begin(r.Context(), "")
	defer end()
	ctx, b.out = sse.OpenQuiet(ctx, w)
	defer b.out.Close()
	b.folds = map[session.ID]*opencode.Fold{}
	b.out.Beat(func() sse.Frame { return b.bare("server.heartbeat") })
	said, stop := a.notices.watch()
	at.Position = after
	got := a.handed.open(at)
	defer a.handed.close(got)
	err = b.out.Send(b.bare("server.connected"), false)
	var relayed sync.WaitGroup
	relayed.Go(func() { b.relay(said) }) // ends with stop
	defer relayed.Wait()
	defer stop()
	for u, failed := range a.log.FeedFrom(ctx, at) {
		if err = failed; err == nil {
			err = b.tell(ctx, u)
		}
		a.handed.note(got, u)
		if err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		a.logger.ErrorContext(ctx, "event stream failed", "error", err) // the client comes again behind what it got
	}
	return nil
}

// bus is one reader of what happens. What it knows of a session is a fold; what it forgets it reads again.
type bus struct {
	api    *API
	out    *sse.Stream
	only   string // directory
	global bool   // all directories
	folds  map[session.ID]*opencode.Fold
}

// maxFolds bounds what a reader remembers.
const maxFolds = 1024

// busEvent is the wire form of an event.
type busEvent struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`
}

// placed is an event with where it happened.
type placed struct {
	Directory string            `json:"directory,omitzero"`
	Project   session.ProjectID `json:"project,omitzero"`
	Payload   payload           `json:"payload"`
}

// payload is a busEvent, or a synced one.
type payload any

// synced is an event as OpenCode hands it to its other instances.
type synced struct {
	Type  string    `json:"type" enum:"sync"`
	ID    string    `json:"id"`
	Event syncEvent `json:"syncEvent"`
}

type syncEvent struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"` // with its version
	Seq       int64      `json:"seq"`
	Aggregate session.ID `json:"aggregateID"`
	Data      any        `json:"data"`
}

// bare is the frame of an event that happens nowhere.
func (b *bus) bare(kind string) sse.Frame {
	v := busEvent{b.api.ids.New(session.PrefixEvent), kind, jsontext.Value(`{}`)}
	f, _ := b.frame(v, nil) // strings only
	return f
}

func (b *bus) frame(v any, s *session.Session) (sse.Frame, error) {
	if b.global {
		p := placed{Payload: v}
		if s != nil {
			p.Directory, p.Project = s.Location.Directory, s.ProjectID
		}
		v = p
	}
	return encoded(v)
}

func encoded(v any) (sse.Frame, error) {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return sse.Frame{Data: data}, err
}

// source is what events are told of: its session, and, if it is kept, its place.
type source struct {
	session *session.Session
	event   *session.Event
}

// send sends the events of one source. The last frame of a kept one bears its id.
func (b *bus) send(from source, events []opencode.Event) error {
	if !b.global && from.session.Location.Directory != b.only {
		return nil
	}
	var frames []sse.Frame
	for i, e := range events {
		id := b.api.ids.New(session.PrefixEvent)
		if i == 0 && from.event != nil {
			id = string(from.event.ID)
		}
		f, err := b.frame(busEvent{id, e.Type, e.Properties}, from.session)
		if err != nil {
			return err
		}
		frames = append(frames, f)
		if b.global && e.Durable && from.event != nil {
			f, err := b.frame(synced{"sync", id, syncEvent{id, e.Type + ".1", from.event.Seq, from.session.ID, e.Properties}}, from.session)
			if err != nil {
				return err
			}
			frames = append(frames, f)
		}
	}
	for i, f := range frames {
		last := i == len(frames)-1
		if last && from.event != nil {
			f.ID = strconv.FormatInt(from.event.Position, 10)
		}
		if err := b.out.Send(f, !last); err != nil {
			return err
		}
	}
	return nil
}

// fold returns what is known of the session, nil if it is gone. The turn is one that it will be asked about, or "".
func (b *bus) fold(ctx context.Context, id session.ID, turn session.MessageID) (*opencode.Fold, error) {
	f := b.folds[id]
	if f != nil && !f.Lacks(turn) {
		return f, nil
	}
	f, err := view(ctx, b.api, func(rd store.Reader) (*opencode.Fold, error) { return readFold(rd, id, turn) })
	if err != nil || f == nil {
		return nil, err
	}
	b.keep(id, f)
	return f, nil
}

func (b *bus) keep(id session.ID, f *opencode.Fold) {
	if len(b.folds) >= maxFolds {
		clear(b.folds)
	}
	b.folds[id] = f
}

// readFold is nil for a session that is gone.
func readFold(rd store.Reader, id session.ID, turn session.MessageID) (*opencode.Fold, error) {
	var rows opencode.Rows
	var ok bool
	var err error
	if rows.Session, ok, err = rd.Session(id); err != nil || !ok {
		return nil, err
	}
	if rows.Through, err = rd.Head(id); err != nil {
		return nil, err
	}
	if rows.Pending, err = rd.Pending(id, "", 0); err != nil {
		return nil, err
	}
	var m session.Message
	if m, _, err = rd.NewestOf(id, session.TypeShell); err != nil {
		return nil, err
	}
	rows.Shell, _ = m.(*session.Shell)
	if turn != "" {
		m, _, err = rd.Message(id, turn)
	} else {
		m, _, err = rd.NewestOf(id, session.TypeAssistant)
	}
	if rows.Turn, ok = m.(*session.Assistant); !ok || err != nil || rows.Turn.ParentID == "" {
		return opencode.NewFold(rows), err
	}
	m, _, err = rd.Message(id, rows.Turn.ParentID)
	rows.Asked, _ = m.(*session.User)
	return opencode.NewFold(rows), err
}
