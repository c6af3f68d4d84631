package v1

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// encodedUpdate is an update of the log as events of V1. All streams share it; it never changes.
type encodedUpdate struct {
	directory string
	project   session.ProjectID
	session   session.ID
	events    []encodedEvent
	seq       int64
	position  int64 // 0 for live updates

	forms [2]struct { // frames for the streams of one directory, and for those of all
		once   sync.Once
		frames []sse.Frame
		err    error
	}
}

// encodedEvent is one event of V1.
type encodedEvent struct {
	id, kind string
	json     jsontext.Value // of a busEvent
	durable  bool
	version  int // of a durable event
}

// encodeOnce returns the frames for the streams of one directory or, with global, of all directories. The global ones
// contain durable events twice, as OpenCode does: plain, and as a syncMessage. The last frame of a durable update has
// its id.
func (u *encodedUpdate) encodeOnce(global bool) ([]sse.Frame, error) {
	form := &u.forms[0]
	if global {
		form = &u.forms[1]
	}
	form.once.Do(func() { form.frames, form.err = u.encodeFrames(global) })
	return form.frames, form.err
}

func (u *encodedUpdate) encodeFrames(global bool) (frames []sse.Frame, err error) {
	for _, e := range u.events {
		if !global {
			frames = append(frames, sse.Frame{Data: e.json})
			continue
		}
		payloads := []payload{e.json}
		if e.durable {
			kind := e.kind + "." + strconv.Itoa(e.version)
			payloads = append(payloads, syncMessage{"sync", e.id, syncEvent{e.id, kind, u.seq, u.session, e.findProperties()}})
		}
		for _, p := range payloads {
			f, err := encodeFrame(eventEnvelope{Directory: u.directory, Project: u.project, Payload: p})
			if err != nil {
				return nil, err
			}
			frames = append(frames, f)
		}
	}
	if n := len(frames); n > 0 && u.position > 0 {
		frames[n-1].ID = strconv.FormatInt(u.position, 10)
	}
	return frames, nil
}

// findProperties returns the last member of the event's JSON. The members before it contain no quotes.
func (e encodedEvent) findProperties() jsontext.Value {
	_, rest, _ := bytes.Cut(e.json, []byte(`"properties":`))
	return jsontext.Value(rest[:len(rest)-1])
}

// size returns the bytes of the events. Memory holds them up to three times: plain, in an envelope, and as a
// syncMessage.
func (u *encodedUpdate) size() (n int) {
	for _, e := range u.events {
		n += len(e.json)
	}
	return n
}
