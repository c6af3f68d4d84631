package v2

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// eventFrame is one event on the wire: {id, type, durable?, location?, data}.
type eventFrame struct {
	id        string
	kind      session.Kind
	durable   *eventRef
	location  *session.Location
	data      jsontext.Value // valid JSON
	ephemeral bool           // live text; it does not move the cursor
	elided    bool           // strings were shortened; the whole event is in /history
}

// eventRef is the position of a durable event.
type eventRef struct {
	session session.ID
	seq     int64
	version int
}

// append adds the frame's JSON to b.
func (f eventFrame) append(b []byte) []byte {
	b = quote(append(b, `{"id":`...), f.id)
	b = quote(append(b, `,"type":`...), string(f.kind))
	if f.durable != nil {
		b = quote(append(b, `,"durable":{"aggregateID":`...), string(f.durable.session))
		b = strconv.AppendInt(append(b, `,"seq":`...), f.durable.seq, 10)
		b = strconv.AppendInt(append(b, `,"version":`...), int64(f.durable.version), 10)
		b = append(b, '}')
	}
	if f.location != nil {
		b = quote(append(b, `,"location":{"directory":`...), f.location.Directory)
		if f.location.WorkspaceID != "" {
			b = quote(append(b, `,"workspaceID":`...), f.location.WorkspaceID)
		}
		b = append(b, '}')
	}
	if f.ephemeral {
		b = append(b, `,"ephemeral":true`...)
	}
	if f.elided {
		b = append(b, `,"elided":true`...)
	}
	return append(append(append(b, `,"data":`...), f.data...), '}')
}

func quote(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // invalid UTF-8, possible only in a log of another program
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// newEventFrame returns the frame of a durable event.
func newEventFrame(e *session.Event) (eventFrame, error) {
	d, err := session.EncodeData(e.Data)
	return eventFrame{
		id: string(e.ID), kind: e.Data.Kind(), durable: &eventRef{e.SessionID, e.Seq, e.Version}, data: d,
	}, err
}

// maxDelta bounds the text of one frame. Escaping makes it at most six times as long.
const maxDelta = 128 << 10

// newFragmentFrames returns the frames of live text: one, or several for a reader that joins late in a long item.
func newFragmentFrames(ids *session.IDs, f *session.Fragment) ([]eventFrame, error) {
	d := f.Data()
	frames := make([]eventFrame, 0, 1)
	for rest := f.Delta; rest != ""; {
		delta := cutText(rest, maxDelta)
		d.SetDelta(delta)
		raw, err := httpio.Encode(d)
		if err != nil {
			return nil, err
		}
		frames = append(frames, eventFrame{id: ids.New(session.PrefixEvent), kind: f.Kind(), data: raw, ephemeral: true})
		d.Offset += len(delta)
		rest = rest[len(delta):]
	}
	return frames, nil
}

// cutText returns the first n bytes of s, or a few less so that no character is cut.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// wireEvent is a frame as frame.append writes it.
type wireEvent struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Durable *struct {
		AggregateID session.ID `json:"aggregateID"`
		Seq         int64      `json:"seq"`
		Version     int        `json:"version"`
	} `json:"durable,omitzero"`
	Location  *session.Location `json:"location,omitzero"`
	Ephemeral bool              `json:"ephemeral,omitzero"`
	Elided    bool              `json:"elided,omitzero"`
	Data      jsontext.Value    `json:"data"`
}

// wireHistory is api.History with events as frame.append writes them.
type wireHistory struct {
	Data    []wireEvent `json:"data"`
	HasMore bool        `json:"hasMore"`
}
