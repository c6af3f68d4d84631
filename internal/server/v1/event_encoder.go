package v1

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/session"
)

// eventEncoder encodes updates of the log as events of V1. It keeps a fold of each session that it meets. It implements
// broadcast.Encoder.
type eventEncoder struct {
	store store.Viewer
	ids   *session.IDs
	folds map[session.ID]*opencode.Fold
}

// maxFolds bounds the sessions whose folds are kept.
const maxFolds = 1024

// newUpdates returns a broadcaster of encoded updates.
func newUpdates(s store.Viewer, ids *session.IDs) *broadcast.Broadcaster[*encodedUpdate] {
	e := &eventEncoder{store: s, ids: ids, folds: map[session.ID]*opencode.Fold{}}
	return broadcast.New(e, (*encodedUpdate).size)
}

// Forget implements broadcast.Encoder.
func (x *eventEncoder) Forget(id session.ID) { delete(x.folds, id) }

// Reset implements broadcast.Encoder.
func (x *eventEncoder) Reset() { clear(x.folds) }

// ReadEvents implements broadcast.Encoder.
func (x *eventEncoder) ReadEvents(ctx context.Context, id session.ID, after int64, limit int) ([]session.Event, error) {
	return eventlog.DecodeAll(store.Query(ctx, x.store, func(rd store.Reader) ([]store.EventRow, error) {
		return rd.Events(id, after, limit)
	}))
}

// EncodeEvent implements broadcast.Encoder.
func (x *eventEncoder) EncodeEvent(ctx context.Context, e *session.Event) (*encodedUpdate, error) {
	if d, ok := e.Data.(*session.Deleted); ok {
		return x.encodeDeleted(e, d)
	}
	var f *opencode.Fold
	if _, created := e.Data.(*session.Created); created {
		f = x.addFold(e.SessionID, opencode.Begin())
	} else {
		turn := session.ChangedTurn(e.Data)
		if _, starts := e.Data.(*session.StepStarted); starts && !x.hasApplied(e) {
			turn = "" // the event itself describes the turn
		}
		var err error
		if f, err = x.findFold(ctx, e.SessionID, turn); err != nil || f == nil {
			return &encodedUpdate{}, err
		}
	}
	return x.encode(f.Session, f.ApplyEvent(e), e)
}

// hasApplied reports whether the fold of the session contains the event already.
func (x *eventEncoder) hasApplied(e *session.Event) bool {
	f := x.folds[e.SessionID]
	return f == nil || f.IncludesSeq(e.Seq)
}

// encodeDeleted encodes the end of a session: as it was at last if it is followed, else as the event describes it.
func (x *eventEncoder) encodeDeleted(e *session.Event, d *session.Deleted) (*encodedUpdate, error) {
	last := &d.Info
	if f := x.folds[e.SessionID]; f != nil && f.Session.ID == last.ID {
		last = f.Session
	}
	x.Forget(e.SessionID)
	return x.encode(last, []opencode.Event{opencode.DeletedEvent(last)}, e)
}

// EncodeFragment implements broadcast.Encoder.
func (x *eventEncoder) EncodeFragment(ctx context.Context, g *session.Fragment) (*encodedUpdate, error) {
	f, err := x.findFold(ctx, g.SessionID, "")
	if err != nil || f == nil {
		return &encodedUpdate{}, err
	}
	return x.encode(f.Session, f.ApplyFragment(g), nil)
}

// EncodeNotice implements broadcast.Encoder.
func (x *eventEncoder) EncodeNotice(ctx context.Context, n *eventlog.Notice) (*encodedUpdate, error) {
	switch n.Kind {
	case "session.status":
		var d struct {
			Status engine.Status `json:"status"`
		}
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return nil, err
		}
		f, err := x.findFold(ctx, n.SessionID, "")
		if err != nil || f == nil {
			return &encodedUpdate{}, err
		}
		return x.encode(f.Session, f.ApplyStatus(convertStatus(d.Status)), nil)
	case string(session.KindToolProgress):
		var d session.ToolProgress
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return nil, err
		}
		f, err := x.findFold(ctx, n.SessionID, d.AssistantMessageID)
		if err != nil || f == nil {
			return &encodedUpdate{}, err
		}
		return x.encode(f.Session, f.ApplyProgress(&d), nil)
	default:
		return &encodedUpdate{}, nil
	}
}

func convertStatus(s engine.Status) opencode.State {
	return opencode.StateOf(string(s.Type), s.Attempt, s.Message, s.Next)
}

// encode encodes events of a session. They come from the durable event e, or from a live update.
func (x *eventEncoder) encode(s *session.Session, events []opencode.Event, e *session.Event) (*encodedUpdate, error) {
	u := &encodedUpdate{directory: s.Location.Directory, project: s.ProjectID, session: s.ID}
	if e != nil {
		u.seq, u.position = e.Seq, e.Position
	}
	for i, v := range events {
		id := x.ids.New(session.PrefixEvent)
		if i == 0 && e != nil {
			id = string(e.ID)
		}
		f, err := encodeFrame(busEvent{id, v.Type, v.Properties})
		if err != nil {
			return nil, err
		}
		u.events = append(u.events, encodedEvent{id, v.Type, f.Data, v.Durable && e != nil, max(v.Version, 1)})
	}
	return u, nil
}

// findFold returns the fold of a session, nil if the session is deleted. turn is the turn that the fold must contain,
// or "".
func (x *eventEncoder) findFold(ctx context.Context, id session.ID, turn session.MessageID) (*opencode.Fold, error) {
	known := x.folds[id]
	if known != nil && !known.NeedsTurn(turn) {
		return known, nil
	}
	f, err := store.Query(ctx, x.store, func(rd store.Reader) (*opencode.Fold, error) { return readFold(rd, id, turn) })
	if err != nil || f == nil {
		return nil, err
	}
	if known != nil {
		f.ResumeFrom(known)
	}
	return x.addFold(id, f), nil
}

func (x *eventEncoder) addFold(id session.ID, f *opencode.Fold) *opencode.Fold {
	if _, ok := x.folds[id]; !ok && len(x.folds) >= maxFolds {
		clear(x.folds)
	}
	x.folds[id] = f
	return f
}

// readFold reads the fold of a session. It returns nil if the session is deleted.
func readFold(rd store.Reader, id session.ID, turn session.MessageID) (*opencode.Fold, error) {
	var rows opencode.Rows
	var ok bool
	var err error
	// The session and what is pending at the newest event.
	if rows.Session, ok, err = rd.Session(id); err != nil || !ok {
		return nil, err
	}
	if rows.Through, err = rd.Head(id); err != nil {
		return nil, err
	}
	if rows.Pending, err = store.PendingInputs(rd, id, "", 0); err != nil {
		return nil, err
	}
	// The newest shell command, and the turn that is shown: the named or the newest one.
	var m session.Message
	if m, _, err = store.NewestMessage(rd, id, session.TypeShell); err != nil {
		return nil, err
	}
	rows.Shell, _ = m.(*session.Shell)
	if turn != "" {
		m, _, err = store.FindMessage(rd, id, turn)
	} else {
		m, _, err = store.NewestMessage(rd, id, session.TypeAssistant)
	}
	if rows.Turn, ok = m.(*session.Assistant); !ok || err != nil || rows.Turn.ParentID == "" {
		return opencode.NewFold(rows), err
	}
	// The prompt of the turn, which may be one of cairn itself.
	m, _, err = store.FindMessage(rd, id, rows.Turn.ParentID)
	if rows.Asked, ok = m.(*session.User); !ok {
		if added, synthetic := m.(*session.Synthetic); synthetic {
			rows.Asked = opencode.SyntheticPrompt(added)
		}
	}
	return opencode.NewFold(rows), err
}
