package turnlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Journal reads and writes sessions. All fields but Audit are required.
type Journal struct {
	Store  store.Store
	Log    *eventlog.Log
	IDs    *session.IDs
	Logger *slog.Logger
	Now    func() time.Time
	Audit  *audit.Trail // nil records nothing
	// Events tells extensions of what happens.
	Events extension.Notifier
}

// ReadSession returns the session's row. An unknown id is a *session.Error of code not-found.
func (j *Journal) ReadSession(ctx context.Context, id session.ID) (*session.Session, error) {
	return store.ReadSession(ctx, j.Store, id)
}

// AppendDrafts commits drafts that depend on nothing but the head of the log. It honours the cancellation of ctx.
func (j *Journal) AppendDrafts(
	ctx context.Context, id session.ID, d store.Durability, drafts ...eventlog.Draft,
) ([]session.Event, error) {
	return j.Log.Append(ctx, id, d, func(store.Tx) ([]eventlog.Draft, error) { return drafts, nil })
}

// AppendFacts commits durable facts of an existing session, all or none. Once begun it is not cancelled by ctx.
func (j *Journal) AppendFacts(ctx context.Context, id session.ID, facts ...session.EventData) error {
	_, err := j.Log.Append(context.WithoutCancel(ctx), id, store.Durable, RequireSession(id, facts...))
	return err
}

// NewMessageID returns a fresh message id.
func (j *Journal) NewMessageID() session.MessageID {
	return session.MessageID(j.IDs.New(session.PrefixMessage))
}

// NewPartID returns a fresh id of a content item.
func (j *Journal) NewPartID() session.PartID { return session.PartID(j.IDs.New(session.PrefixPart)) }

// Notify sends a notice to the live readers of a session. Notices are not stored.
func (j *Journal) Notify(kind string, id session.ID, data any) {
	raw, err := json.Marshal(data, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		j.Logger.Error("encode notice", "kind", kind, "error", err)
		return
	}
	j.Log.Notify(eventlog.Notice{Kind: kind, SessionID: id, Data: raw})
}

// ListPending returns the session's pending prompts, in the order of their promotion within each delivery.
func (j *Journal) ListPending(ctx context.Context, id session.ID) (ins []*session.Input, err error) {
	err = j.Store.View(ctx, func(r store.Reader) error {
		if _, err := store.FindSession(r, id); err != nil {
			return err
		}
		ins, err = store.PendingInputs(r, id, "", 0)
		return err
	})
	return ins, err
}

// RequireSession returns a decision for eventlog.Append that commits the facts if the session exists.
func RequireSession(id session.ID, facts ...session.EventData) func(store.Tx) ([]eventlog.Draft, error) {
	return func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, err := store.FindSession(tx, id); err != nil {
			return nil, err
		}
		return eventlog.NewDrafts(facts...), nil
	}
}
