package opencode

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// next tells an event of a session that was made below V2's contract on V1's bus too, as OpenCode does: there its times are
// written out.
func (f *Fold) next(e *session.Event) []Event {
	if f.Session.Open {
		return nil
	}
	kind, v, ok := e.Public()
	if _, both := e.Data.(*session.TodosSet); !ok || both { // V1 has the same words for these
		return nil
	}
	return []Event{{Type: string(kind), Properties: dated(v), Durable: kind.Public(), Version: e.Data.Version()}}
}

// nextFragment and nextProgress tell so of what is not kept.
func (f *Fold) nextFragment(g *session.Fragment) []Event {
	if f.Session.Open {
		return nil
	}
	return []Event{{Type: string(g.Kind()), Properties: dated(g.Data())}}
}

func (f *Fold) nextProgress(p *session.ToolProgress) []Event {
	if f.Session.Open {
		return nil
	}
	return []Event{{Type: string(p.Kind()), Properties: dated(p)}}
}

// dated is the value with its timestamp as a date.
func dated(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return emptyObject
	}
	m := members(b)
	var ms int64
	if at, ok := m["timestamp"]; ok && json.Unmarshal(at, &ms) == nil {
		m["timestamp"] = jsontext.Value(time.UnixMilli(ms).UTC().Format(`"2006-01-02T15:04:05.000Z"`))
	}
	return object(m)
}
