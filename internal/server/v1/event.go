package v1

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/server/httpio"
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
// repeated. A reader that is slow gets fewer and larger deltas, nothing less; one that reads nothing for
// sse.WriteTimeout finds its connection broken. So does everybody when the server stops: OpenCode's clients come again with
// the id of what they got last, but not when a stream ends.
func (a *API) stream(w http.ResponseWriter, r *http.Request, b *bus) error {
	at := a.log.NewestMark() // first: whoever is told that the stream stands misses nothing from then on
	newest, err := view(r.Context(), a, func(rd store.Reader) (int64, error) { return rd.Head("") })
	if err != nil {
		return err
	}
	after := newest
	if s := r.Header.Get("Last-Event-ID"); s != "" {
		if after, err = strconv.ParseInt(s, 10, 64); err != nil || after < 0 {
			return httpio.Invalid("headers", "Last-Event-ID", "Last-Event-ID must be the id of a frame of this stream, got %q", httpio.Clip(s, 40))
		}
		after = min(after, newest) // of a store that is no more: to who asks again and again, an error would say nothing
	}
	ctx, end := a.long.Start(r, "")
	defer end()
	said, stop := a.notices.watch() // before the answer begins, which a client in this process sees at once
	directory := b.only
	if b.global {
		directory = httpio.DefaultDirectory(r, a.directory)
	}
	defer a.heads.join(ctx, a, directory)()
	ctx, b.out = sse.OpenQuiet(ctx, w)
	defer b.out.Close()
	a.line.join()
	defer a.line.leave()
	b.newest = newest
	b.out.Beat(func() sse.Frame { return b.bare("server.heartbeat") })
	at.Position = after
	got := a.handed.open(at)
	defer a.handed.close(got)
	if r.Method == http.MethodHead {
		return nil
	}
	first := b.bare("server.connected")
	first.ID = strconv.FormatInt(after, 10)
	err = b.out.Send(first, false)
	var relayed sync.WaitGroup
	relayed.Go(func() { b.relay(said) }) // ends with stop
	defer relayed.Wait()
	defer stop()
	for u, failed := range a.log.FollowAllFrom(ctx, at) {
		if err = failed; err == nil {
			err = b.tell(ctx, u)
		}
		a.handed.note(got, u)
		if err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		a.logger.ErrorContext(ctx, "event stream failed", "error", err)
	}
	b.out.Break() // the client comes again behind what it got
	return nil
}

// bus is one reader of what happens.
type bus struct {
	api    *API
	out    *sse.Stream
	only   string // directory
	global bool   // all directories
	newest int64  // position of the newest event when it came
	own    *line  // nil unless it is behind what all are told
}

// tell sends what V1 says of the update. What no client would read is left out: its text came in pieces, and the message
// has it.
func (b *bus) tell(ctx context.Context, u eventlog.Update) error {
	t, err := b.told(ctx, u)
	if err != nil || !b.global && t.directory != b.only {
		return err
	}
	frames, err := t.frames(b.global)
	if err != nil {
		return err
	}
	for i, f := range frames {
		err := b.out.Send(f, i < len(frames)-1)
		if errors.Is(err, sse.ErrFrameTooLarge) {
			b.api.logger.WarnContext(ctx, "an event is too large for the stream", "session", t.session, "bytes", len(f.Data))
			err = b.out.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// told returns what is said of the update: what all are told, or, to a reader that is behind that, what its own line makes of
// the rows as they are now.
func (b *bus) told(ctx context.Context, u eventlog.Update) (*told, error) {
	if u.Event == nil || u.Event.Position > b.newest {
		t, err := b.api.line.tell(ctx, u)
		if !errors.Is(err, errBehind) {
			b.own = nil
			return t, err
		}
	}
	if b.own == nil {
		b.own = newLine(b.api)
	}
	return b.own.tell(ctx, u)
}

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
	Workspace string            `json:"workspace,omitzero"` // there is none
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
	var v any = busEvent{b.api.ids.New(session.PrefixEvent), kind, jsontext.Value(`{}`)}
	if b.global {
		v = placed{Payload: v}
	}
	f, _ := encoded(v) // strings only
	return f
}

func encoded(v any) (sse.Frame, error) {
	data, err := httpio.Encode(v)
	return sse.Frame{Data: data}, err
}
