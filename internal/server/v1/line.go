package v1

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// line makes what streams say of updates, once for all of them: whoever comes upon an update first folds and encodes it, the
// others take what was made. All come upon them in the same order, each at its own pace; the newest that were made are kept
// for those who are behind. One makes at a time, and nobody sends meanwhile: a reader that stalls holds up no other.
type line struct {
	api     *API
	turn    chan struct{} // capacity 1; who is in it may use the rest
	readers int
	folds   map[session.ID]*followed
	noticed int64 // the number of the newest notice that was told
	newest  recent
}

// followed is what is known of a session, and the event of it that was told last.
type followed struct {
	*opencode.Fold
	last  int64
	fresh bool // made of rows: any event may be the first
}

// errBehind says that an update was told before, and is kept no more.
var errBehind = errors.New("the reader is behind what is kept")

const (
	maxFolds = 1024
	maxFill  = 256 // events that are read to close a gap
)

func newLine(a *API) *line {
	return &line{api: a, turn: make(chan struct{}, 1), folds: map[session.ID]*followed{}}
}

// join and leave count readers. What was known is forgotten with the last one: nobody sees to it that it stays true.
func (l *line) join() { l.count(1) }

func (l *line) leave() { l.count(-1) }

func (l *line) count(n int) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.readers += n; l.readers == 0 {
		clear(l.folds)
		l.newest, l.noticed = recent{}, 0
	}
}

// tell returns what is said of the update, or errBehind.
func (l *line) tell(ctx context.Context, u eventlog.Update) (*told, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-l.turn }()
	k := keyOf(u)
	if t := l.newest.of(k); t != nil {
		return t, nil
	}
	t, err := l.make(ctx, u)
	if err == nil {
		l.newest.keep(k, t)
	}
	return t, err
}

// make tells of what nobody was told yet.
func (l *line) make(ctx context.Context, u eventlog.Update) (*told, error) {
	switch {
	case u.Event != nil:
		return l.event(ctx, u.Event)
	case u.Fragment != nil:
		f, err := l.fold(ctx, u.Fragment.SessionID, "")
		if err != nil || f == nil {
			return &told{}, err
		}
		return l.told(f.Session, f.ApplyFragment(u.Fragment), nil)
	case u.Notice != nil && u.Notice.Number <= l.noticed:
		return nil, errBehind
	case u.Notice != nil:
		l.noticed = u.Notice.Number
		return l.notice(ctx, u.Notice)
	default:
		return &told{}, nil
	}
}

func (l *line) event(ctx context.Context, e *session.Event) (*told, error) {
	f := l.folds[e.SessionID]
	switch {
	case f == nil || f.fresh || e.Data.Kind() == session.KindDeleted:
	case e.Seq <= f.last:
		return nil, errBehind
	case e.Seq > f.last+1:
		if err := l.fill(ctx, f, e); err != nil {
			return nil, err
		}
	}
	return l.next(ctx, e)
}

// fill tells of the events of a session before one, which a reader that came later begins with: others still come upon them.
func (l *line) fill(ctx context.Context, f *followed, e *session.Event) error {
	if e.Seq-f.last > maxFill {
		delete(l.folds, e.SessionID)
		return nil
	}
	rows, err := view(ctx, l.api, func(rd store.Reader) ([]store.EventRow, error) {
		return rd.Events(e.SessionID, f.last, int(e.Seq-f.last-1))
	})
	for i := 0; i < len(rows) && err == nil; i++ {
		var missed session.Event
		if missed, err = eventlog.Decode(rows[i]); err == nil {
			var t *told
			if t, err = l.next(ctx, &missed); err == nil {
				l.newest.keep(key{position: missed.Position}, t)
			}
		}
	}
	return err
}

// gone tells that a session was deleted: as it was, where it was followed to its end, else what remains of it.
func (l *line) gone(e *session.Event, d *session.Deleted) (*told, error) {
	last := &d.Info
	if f := l.folds[e.SessionID]; f != nil && f.Session.ID == last.ID {
		last = f.Session
	}
	delete(l.folds, e.SessionID)
	return l.told(last, []opencode.Event{opencode.DeletedEvent(last)}, e)
}

// next tells of the event behind the last one.
func (l *line) next(ctx context.Context, e *session.Event) (*told, error) {
	if d, ok := e.Data.(*session.Deleted); ok {
		return l.gone(e, d)
	}
	var f *followed
	if _, created := e.Data.(*session.Created); created {
		f = l.follow(e.SessionID, opencode.Begin())
	} else {
		turn := session.ChangedTurn(e.Data)
		if _, begins := e.Data.(*session.StepStarted); begins && !l.old(e) {
			turn = "" // the event itself says what it is
		}
		var err error
		if f, err = l.fold(ctx, e.SessionID, turn); err != nil || f == nil {
			return &told{}, err
		}
	}
	f.last, f.fresh = e.Seq, false
	return l.told(f.Session, f.ApplyEvent(e), e)
}

// old reports whether what is known of the session holds the event already.
func (l *line) old(e *session.Event) bool {
	f := l.folds[e.SessionID]
	return f == nil || f.IncludesSeq(e.Seq)
}

func (l *line) notice(ctx context.Context, n *eventlog.Notice) (*told, error) {
	switch n.Kind {
	case "session.status":
		d, f, err := about[struct {
			Status engine.Status `json:"status"`
		}](ctx, l, n, nil)
		if err != nil || f == nil {
			return &told{}, err
		}
		return l.told(f.Session, f.ApplyStatus(stateOf(d.Status)), nil)
	case string(session.KindToolProgress):
		d, f, err := about(ctx, l, n, func(d *session.ToolProgress) session.MessageID { return d.AssistantMessageID })
		if err != nil || f == nil {
			return &told{}, err
		}
		return l.told(f.Session, f.ApplyProgress(d), nil)
	default:
		return &told{}, nil
	}
}

// about reads a notice, and what is known of its session. The turn, if there is a function for it, is one that the notice is
// about.
func about[T any](ctx context.Context, l *line, n *eventlog.Notice, turn func(*T) session.MessageID) (*T, *followed, error) {
	d, m := new(T), session.MessageID("")
	if err := json.Unmarshal(n.Data, d); err != nil {
		return nil, nil, err
	}
	if turn != nil {
		m = turn(d)
	}
	f, err := l.fold(ctx, n.SessionID, m)
	return d, f, err
}

// fold returns what is known of the session, nil if it is gone. The turn is one that it will be asked about, or "".
func (l *line) fold(ctx context.Context, id session.ID, turn session.MessageID) (*followed, error) {
	known := l.folds[id]
	if known != nil && !known.NeedsTurn(turn) {
		return known, nil
	}
	f, err := view(ctx, l.api, func(rd store.Reader) (*opencode.Fold, error) { return readFold(rd, id, turn) })
	if err != nil || f == nil {
		return nil, err
	}
	if known != nil {
		known.Fold = f
		return known, nil
	}
	return l.follow(id, f), nil
}

func (l *line) follow(id session.ID, f *opencode.Fold) *followed {
	if len(l.folds) >= maxFolds {
		clear(l.folds)
	}
	l.folds[id] = &followed{Fold: f, fresh: true}
	return l.folds[id]
}

// readFold is nil for a session that is gone.
func readFold(rd store.Reader, id session.ID, turn session.MessageID) (*opencode.Fold, error) {
	var rows opencode.Rows
	var ok bool
	var err error
	if rows.Session, ok, err = rd.Session(id); err != nil || !ok {
		return nil, err
	}
	if rows.Through, err = rd.Head(id); err != nil {
		return nil, err
	}
	if rows.Pending, err = store.PendingInputs(rd, id, "", 0); err != nil {
		return nil, err
	}
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
	m, _, err = store.FindMessage(rd, id, rows.Turn.ParentID)
	rows.Asked, _ = m.(*session.User)
	return opencode.NewFold(rows), err
}
