package peer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/sse"
)

// Event is one of the bus.
type Event struct {
	Type       string         `json:"type"`
	Properties jsontext.Value `json:"properties"`
	Cursor     string         `json:"-"` // what a later stream goes on behind; "" where the server tells none
}

// Read reads the event's properties, as far as they are known.
func (e Event) Read(into any) error {
	return json.Unmarshal(e.Properties, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// silence is how long a stream may be quiet before it counts as broken; servers beat every ten seconds.
const silence = 60 * time.Second

// maxFrame bounds one event: a tool's output with its attachments.
const maxFrame = 64 << 20

// errEnded says that the server ended the stream.
var errEnded = errors.New("the server ended the stream of events")

// Events yields what happens in the client's directory, from server.connected on, until ctx ends or an error. With a
// cursor, a server that keeps its events first tells those that came behind it.
func (c *Client) Events(ctx context.Context, cursor string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := request{method: http.MethodGet, path: "/event", cursor: cursor}
		heard, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		resp, err := c.send(heard, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer resp.Body.Close()
		quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing came for %s", silence)) })
		defer quiet.Stop()
		for f, err := range sse.Frames(resp.Body, maxFrame) {
			if err != nil {
				yield(Event{}, c.broken(ctx, r, err))
				return
			}
			quiet.Reset(silence)
			var e Event
			if json.Unmarshal([]byte(f.Data), &e, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil || e.Type == "" {
				continue // a frame of another kind
			}
			e.Cursor = f.ID
			if !yield(e, nil) {
				return
			}
		}
		yield(Event{}, c.broken(ctx, r, errEnded))
	}
}
