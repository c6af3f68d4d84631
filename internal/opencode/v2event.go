package opencode

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// v2Events announces an event of a session that was created over V2 in V2's form on V1's bus, as OpenCode does, with
// times written as dates.
func (f *Fold) v2Events(e *session.Event) []Event {
	if f.Session.IsOfV1() {
		return nil
	}
	kind, v, ok := e.PublicForm()
	if _, both := e.Data.(*session.TodosSet); !ok || both { // V1 has the same words for these
		return nil
	}
	return []Event{{Type: string(kind), Properties: withDates(v), Durable: kind.IsPublic(), Version: e.Data.Version()}}
}

// v2Fragment and v2Progress do the same for live events.
func (f *Fold) v2Fragment(g *session.Fragment) []Event {
	if f.Session.IsOfV1() {
		return nil
	}
	return []Event{{Type: string(g.Kind()), Properties: withDates(g.Data())}}
}

func (f *Fold) v2Progress(p *session.ToolProgress) []Event {
	if f.Session.IsOfV1() {
		return nil
	}
	return []Event{{Type: string(p.Kind()), Properties: withDates(p)}}
}

// withDates returns v's JSON with its timestamp as a date.
func withDates(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return emptyObject
	}
	m := membersOfObject(b)
	var ms int64
	if at, ok := m["timestamp"]; ok && json.Unmarshal(at, &ms) == nil {
		m["timestamp"] = jsontext.Value(time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000Z"`))
	}
	return objectOf(m)
}
