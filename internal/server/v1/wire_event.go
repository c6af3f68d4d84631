package v1

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/sse"
	"github.com/cairn-dev/cairn/internal/session"
)

// busEvent is the wire form of an event.
type busEvent struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`
}

// eventEnvelope is an event on the stream of all directories.
type eventEnvelope struct {
	Directory string            `json:"directory,omitzero"`
	Project   session.ProjectID `json:"project,omitzero"`
	Workspace string            `json:"workspace,omitzero"` // always empty: there are no workspaces
	Payload   payload           `json:"payload"`
}

// payload is a busEvent or a syncMessage.
type payload any

// syncMessage is an event in the form in which OpenCode sends it to its other instances.
type syncMessage struct {
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

// encodeFrame returns a frame with the JSON of v.
func encodeFrame(v any) (sse.Frame, error) {
	data, err := httpio.Encode(v)
	return sse.Frame{Data: data}, err
}

// encodePlainFrame returns the frame of an event without properties. A global one is of no directory.
func encodePlainFrame(id, kind string, global bool) sse.Frame {
	var v any = busEvent{id, kind, jsontext.Value(`{}`)}
	if global {
		v = eventEnvelope{Payload: v}
	}
	f, _ := encodeFrame(v) // encoding strings does not fail
	return f
}
