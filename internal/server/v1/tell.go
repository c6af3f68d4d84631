package v1

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// tell sends what V1 says of the update.
func (b *bus) tell(ctx context.Context, u eventlog.Update) error {
	switch {
	case u.Event != nil:
		return b.event(ctx, u.Event)
	case u.Fragment != nil:
		f, err := b.fold(ctx, u.Fragment.SessionID, "")
		if err != nil || f == nil {
			return err
		}
		return b.send(source{session: f.Session}, f.Fragment(u.Fragment))
	case u.Notice != nil:
		return b.notice(ctx, u.Notice)
	default:
		return nil
	}
}

func (b *bus) event(ctx context.Context, e *session.Event) error {
	var f *opencode.Fold
	if _, created := e.Data.(*session.Created); created {
		f = opencode.Begin()
		b.keep(e.SessionID, f)
	} else {
		var err error
		turn := session.Turn(e.Data)
		if _, begins := e.Data.(*session.StepStarted); begins && !b.old(e) {
			turn = "" // the event itself says what it is
		}
		if f, err = b.fold(ctx, e.SessionID, turn); err != nil || f == nil {
			return err
		}
	}
	return b.send(source{f.Session, e}, f.Event(e))
}

// old reports whether what is known of the session holds the event already.
func (b *bus) old(e *session.Event) bool {
	f := b.folds[e.SessionID]
	return f == nil || f.Knows(e.Seq)
}

func (b *bus) notice(ctx context.Context, n *eventlog.Notice) error {
	switch n.Kind {
	case "session.status":
		var d struct {
			Status engine.Status `json:"status"`
		}
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		f, err := b.fold(ctx, n.SessionID, "")
		if err != nil || f == nil {
			return err
		}
		return b.send(source{session: f.Session}, f.Status(stateOf(d.Status)))
	case string(session.KindToolProgress):
		var d session.ToolProgress
		if err := json.Unmarshal(n.Data, &d); err != nil {
			return err
		}
		f, err := b.fold(ctx, n.SessionID, d.AssistantMessageID)
		if err != nil || f == nil {
			return err
		}
		return b.send(source{session: f.Session}, f.Progress(&d))
	case "session.deleted":
		var d struct {
			Info *session.Session `json:"info"`
		}
		if err := json.Unmarshal(n.Data, &d); err != nil || d.Info == nil {
			return err
		}
		delete(b.folds, n.SessionID)
		return b.send(source{session: d.Info}, []opencode.Event{opencode.Deleted(d.Info)})
	default:
		return nil
	}
}
