package v1

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// told is what is said of one update: the same frames to all who hear of it. Nobody changes it.
type told struct {
	directory string
	project   session.ProjectID
	sayings   []saying
	session   session.ID
	seq       int64
	position  int64 // 0: of what is not kept

	forms [2]struct { // of one directory, and of all
		once   sync.Once
		frames []sse.Frame
		err    error
	}
}

// saying is one event of V1.
type saying struct {
	id, kind string
	event    jsontext.Value // a busEvent
	durable  bool
	version  int // of what is kept
}

// told encodes events of one session. They are of e, or of nothing that is kept.
func (l *line) told(s *session.Session, events []opencode.Event, e *session.Event) (*told, error) {
	t := &told{directory: s.Location.Directory, project: s.ProjectID, session: s.ID}
	if e != nil {
		t.seq, t.position = e.Seq, e.Position
	}
	for i, v := range events {
		id := l.api.ids.New(session.PrefixEvent)
		if i == 0 && e != nil {
			id = string(e.ID)
		}
		f, err := encoded(busEvent{id, v.Type, v.Properties})
		if err != nil {
			return nil, err
		}
		t.sayings = append(t.sayings, saying{id, v.Type, f.Data, v.Durable && e != nil, max(v.Version, 1)})
	}
	return t, nil
}

// frames returns the frames for readers of one directory or of all, and these get what OpenCode keeps a second time, in the
// form in which it syncs it. The last frame of what is kept bears its id.
func (t *told) frames(global bool) ([]sse.Frame, error) {
	form := &t.forms[0]
	if global {
		form = &t.forms[1]
	}
	form.once.Do(func() { form.frames, form.err = t.encode(global) })
	return form.frames, form.err
}

func (t *told) encode(global bool) (frames []sse.Frame, err error) {
	for _, s := range t.sayings {
		if !global {
			frames = append(frames, sse.Frame{Data: s.event})
			continue
		}
		payloads := []payload{s.event}
		if s.durable {
			payloads = append(payloads, synced{"sync", s.id, syncEvent{s.id, s.kind + "." + strconv.Itoa(s.version), t.seq, t.session, s.properties()}})
		}
		for _, p := range payloads {
			f, err := encoded(placed{Directory: t.directory, Project: t.project, Payload: p})
			if err != nil {
				return nil, err
			}
			frames = append(frames, f)
		}
	}
	if n := len(frames); n > 0 && t.position > 0 {
		frames[n-1].ID = strconv.FormatInt(t.position, 10)
	}
	return frames, nil
}

// properties are the last member of the event.
func (s saying) properties() jsontext.Value {
	_, rest, _ := bytes.Cut(s.event, []byte(`"properties":`)) // an id and a kind hold no quotes
	return jsontext.Value(rest[:len(rest)-1])
}

// key tells apart what there is to tell.
type key struct {
	position     int64 // of an event
	notice       int64
	part         session.PartID // of a fragment, with where it is in its item
	offset, size int
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

// recent is what was told of the newest updates. The zero value is ready.
type recent struct {
	m     map[key]*told
	order []key // oldest first
	bytes int
}

// What is kept, at most three times: without a place, with one, and as it is synced.
const (
	keptTold  = 1024
	keptBytes = 4 << 20
)

func (r *recent) of(k key) *told { return r.m[k] }

func (r *recent) keep(k key, t *told) {
	if r.m == nil {
		r.m = map[key]*told{}
	}
	if _, ok := r.m[k]; ok {
		return
	}
	r.m[k] = t
	r.order = append(r.order, k)
	r.bytes += t.size()
	for len(r.order) > keptTold || r.bytes > keptBytes {
		r.bytes -= r.m[r.order[0]].size()
		delete(r.m, r.order[0])
		r.order = r.order[1:]
	}
}

func (t *told) size() (n int) {
	for _, s := range t.sayings {
		n += len(s.event)
	}
	return n
}
