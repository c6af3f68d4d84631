package v2

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// feedStart is the start of a stream of all sessions, as in startIn. The document does not list its parameter.
type feedStart struct{ r *http.Request }

// DecodeRequest implements operation.Decoder.
func (s *feedStart) DecodeRequest(r *http.Request) error {
	s.r = r
	return nil
}

// findCursor returns where the stream starts, -1 if the request does not say.
func (s feedStart) findCursor() (int64, error) {
	in := startIn{LastID: s.r.Header.Get("Last-Event-ID")}
	if text := s.r.URL.Query().Get("after"); text != "" {
		n, err := httpio.ParseNumber("after", text, httpio.Range{Min: -1, Max: maxSeq})
		if err != nil {
			return 0, err
		}
		in.After = &n
	}
	return in.findCursor()
}

// feedFilter is the location of the query, if it names one. Headers do not count.
type feedFilter struct{ r *http.Request }

// DecodeRequest implements operation.Decoder.
func (f *feedFilter) DecodeRequest(r *http.Request) error {
	f.r = r
	return nil
}

// DocumentType implements operation.Documented.
func (feedFilter) DocumentType() reflect.Type { return reflect.TypeFor[operation.LocationParameter]() }

// subscribe streams the events of all sessions, from now on or after a position. With a location in the query it
// streams those of that directory. The first frame is server.connected.
func (h eventHandlers) subscribe(ctx context.Context, in struct {
	Start  feedStart
	Filter feedFilter `query:"location"`
	All    allFields
},
) (operation.Stream[wireEvent], error) {
	at := h.Log.NewestMark() // before the stream opens, so that the client misses no notice from then on
	after, err := in.Start.findCursor()
	if err != nil {
		return nil, err
	}
	// A cursor beyond the newest event is not of this store.
	newest, err := store.Query(ctx, h.Store, func(rd store.Reader) (int64, error) { return rd.Head("") })
	if err == nil {
		err = checkCursor(after, newest)
	}
	if after < 0 {
		after = newest // sampled now, and not after the first frame was sent: no event may fall in between
	}
	f := &feedStream{
		dependencies: h.dependencies,
		all:          in.All,
		newest:       newest,
		cursor:       after,
		locations:    map[session.ID]*session.Location{},
		failures:     map[session.ID]*session.Failure{},
	}
	// A directory in the query narrows the stream.
	if err == nil && in.Filter.r.URL.Query().Has("location[directory]") {
		var l session.Location
		l, _, err = h.findLocation(in.Filter.r)
		f.directory = l.Directory
	}
	at.Position = after
	return func(w http.ResponseWriter, r *http.Request) error {
		f.serve(w, r, at)
		return nil
	}, err
}

// feedStream is an open stream of all sessions.
type feedStream struct {
	*dependencies

	out       *sse.Stream
	all       allFields
	directory string // "": all directories
	newest    int64
	cursor    int64                            // position of the newest durable event that was passed
	locations map[session.ID]*session.Location // nil: the session is deleted
	failures  map[session.ID]*session.Failure  // of the last turn of each session that works, until it is sent
}

func (f *feedStream) serve(w http.ResponseWriter, r *http.Request, at eventlog.Mark) {
	ctx, end := f.long.Start(r.Context(), "")
	defer end()
	ctx, f.out = sse.Open(ctx, w)
	defer f.out.Close()
	if r.Method == http.MethodHead {
		return
	}
	connected := eventFrame{id: f.IDs.New(session.PrefixEvent), kind: "server.connected", data: jsontext.Value("{}")}
	err := sendFrame(f.out, f.id(), connected, false)
	for u, failed := range f.Log.FollowAll(ctx, at) {
		if err = failed; err == nil {
			err = f.send(ctx, u)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		f.sendFailure(ctx, f.out, f.id(), err)
	}
	f.out.BreakConnection()
}

// id is the id of every frame: the cursor with which a reader resumes. Live frames have that of the durable frame
// before.
func (f *feedStream) id() string { return strconv.FormatInt(f.cursor, 10) }

func (f *feedStream) send(ctx context.Context, u eventlog.Update) error {
	switch {
	case u.Event != nil:
		return f.sendEvent(ctx, u.Event)
	case u.Fragment != nil:
		l, err := f.findLocation(ctx, u.Fragment.SessionID)
		if err != nil || !f.isIncluded(l) {
			return err
		}
		return f.sendFragment(f.out, f.id(), u.Fragment)
	case u.Notice != nil:
		return f.sendNotice(ctx, u.Notice)
	default:
		return nil
	}
}

func (f *feedStream) sendEvent(ctx context.Context, e *session.Event) error {
	if _, moved := e.Data.(*session.Moved); moved {
		delete(f.locations, e.SessionID)
	}
	f.noteFailure(e)
	f.cursor = e.Position
	more := e.Position < f.newest
	fr, ok, err := f.newFrame(ctx, e)
	if err != nil {
		return err
	}
	if d, deleted := e.Data.(*session.Deleted); deleted {
		delete(f.locations, e.SessionID)
		fr.location = &d.Info.Location
	} else if ok {
		fr.location, err = f.findLocation(ctx, e.SessionID)
	}
	switch {
	case err != nil:
		return err
	case ok && f.isIncluded(fr.location):
		return sendFrame(f.out, f.id(), fr, more)
	case !more:
		return f.out.Flush()
	default:
		return nil
	}
}

// newFrame returns the frame of an event: as it is stored, or, for asks, replies, todos, deletions and changes of the
// session itself, as OpenCode's clients know it. ok is false if the stream leaves the event out.
func (f *feedStream) newFrame(ctx context.Context, e *session.Event) (fr eventFrame, ok bool, err error) {
	if bool(f.all) || e.Data.Kind().IsPublic() {
		fr, err = newEventFrame(e)
		return fr, true, err
	}
	kind, v, ok := e.PublicForm()
	if !ok {
		kind, v, ok, err = f.findChange(ctx, e)
	}
	if !ok || err != nil {
		return fr, false, err
	}
	fr.kind = kind
	fr.id, fr.durable = string(e.ID), &eventRef{e.SessionID, e.Seq, e.Version}
	fr.data, err = httpio.Encode(v)
	return fr, true, err
}

// findChange returns the session after an event that creates or changes it. ok is false for other events, and if the
// session has been deleted since.
func (f *feedStream) findChange(
	ctx context.Context, e *session.Event,
) (kind session.Kind, changed session.SessionChanged, ok bool, err error) {
	switch _, isCreation := e.Data.(*session.Created); {
	case isCreation:
		kind = session.KindCreated
	case session.ChangesSession(e.Data):
		kind = "session.updated"
	default:
		return kind, changed, false, nil
	}
	s, err := store.ReadSession(ctx, f.Store, e.SessionID)
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return kind, changed, false, nil
	}
	if err == nil {
		changed = session.SessionChanged{SessionID: e.SessionID, Info: s.PublicInfo()}
	}
	return kind, changed, err == nil, err
}

// noteFailure remembers how the newest turn of a session failed. Only when the session is idle is it known that no
// other attempt follows.
func (f *feedStream) noteFailure(e *session.Event) {
	switch d := e.Data.(type) {
	case *session.StepFailed:
		if len(f.failures) < maxLocations && d.Error.Reason != session.ReasonDenied {
			f.failures[e.SessionID] = &d.Error
		}
	case *session.Interrupted:
		f.failures[e.SessionID] = &d.Error
	case *session.StepStarted, *session.Deleted:
		delete(f.failures, e.SessionID)
	}
}

// sendSessionError sends why the work of a session ended, if it failed.
func (f *feedStream) sendSessionError(id session.ID, l *session.Location) error {
	failure := f.failures[id]
	if failure == nil {
		return nil
	}
	delete(f.failures, id)
	data, err := httpio.Encode(session.SessionFailed{SessionID: id, Error: failure.PublicForm("")})
	if err != nil {
		return err
	}
	failed := eventFrame{id: f.IDs.New(session.PrefixEvent), kind: "session.error", location: l, data: data}
	return sendFrame(f.out, f.id(), failed, false)
}

func (f *feedStream) sendNotice(ctx context.Context, n *eventlog.Notice) error {
	fr := eventFrame{id: f.IDs.New(session.PrefixEvent), kind: session.Kind(n.Kind), data: n.Data}
	if n.Kind == "session.status" && !f.all {
		fr.data = simplifyStatus(n.Data)
	}
	if n.SessionID == "" && n.Directory != "" {
		fr.location = &session.Location{Directory: n.Directory}
		if !f.isIncluded(fr.location) {
			return nil
		}
	}
	if n.SessionID == "" {
		return sendFrame(f.out, f.id(), fr, false)
	}
	var err error
	if fr.location, err = f.findLocation(ctx, n.SessionID); err != nil {
		return err
	}
	if fr.location == nil || f.isIncluded(fr.location) { // every stream learns that a session is deleted
		if isIdleNotice(n) {
			if err = f.sendSessionError(n.SessionID, fr.location); err != nil {
				return err
			}
		}
		return sendFrame(f.out, f.id(), fr, false)
	}
	return nil
}

// isIdleNotice reports whether the notice says that a session has become idle.
func isIdleNotice(n *eventlog.Notice) bool {
	var status struct {
		Status api.Status `json:"status"`
	}
	return n.Kind == "session.status" && json.Unmarshal(n.Data, &status) == nil && status.Status.Type == api.StatusIdle
}

// simplifyStatus replaces statuses that OpenCode's clients do not know by busy.
func simplifyStatus(v jsontext.Value) jsontext.Value {
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

func (f *feedStream) isIncluded(l *session.Location) bool {
	return f.directory == "" || (l != nil && l.Directory == f.directory)
}

// maxLocations bounds the locations that a stream remembers.
const maxLocations = 1024

// findLocation returns the location of a session, nil if the session is deleted.
func (f *feedStream) findLocation(ctx context.Context, id session.ID) (*session.Location, error) {
	if l, ok := f.locations[id]; ok {
		return l, nil
	}
	l, err := store.Query(ctx, f.Store, func(rd store.Reader) (*session.Location, error) {
		s, ok, err := rd.Session(id)
		if err != nil || !ok {
			return nil, err
		}
		return &s.Location, nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.locations) >= maxLocations {
		clear(f.locations)
	}
	f.locations[id] = l
	return l, nil
}
