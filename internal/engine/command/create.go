package command

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// CreateRequest asks for a new session.
type CreateRequest struct {
	ID         session.ID // the caller's idempotency key; "" makes one
	ParentID   session.ID
	Agent      string
	Model      *session.ModelRef
	Location   session.Location
	Unplaced   bool // the caller named no location: it is the server's own
	Title      string
	Permission []session.Rule
	Open       bool // allow what no rule decides
	Budget     *session.Budget
	Metadata   jsontext.Value // an object that clients store with the session
}

// CreateSession creates a session. The same id with the same content returns the session as it is now; with other content
// it is a conflict (AD-1). Agent and model are checked against the location first, so that no session is created that
// cannot be prompted.
func (c *Commands) CreateSession(ctx context.Context, r CreateRequest) (*session.Session, error) {
	if err := c.checkOpen(); err != nil {
		return nil, err
	}
	if r.ID == "" {
		r.ID = session.ID(c.journal.IDs.New(session.PrefixSession))
	} else if err := session.CheckID("id", session.PrefixSession, string(r.ID)); err != nil {
		return nil, err
	}
	if s, err := c.findCreated(ctx, r); s != nil || err != nil {
		return s, err
	}
	scope, release, err := c.locations.Scope(ctx, r.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := cmp.Or(
		scope.CheckSelection(r.Agent, r.Model), session.CheckRules("permission", r.Permission), r.Budget.Check("budget"),
		checkMetadata(r.Metadata),
	); err != nil {
		return nil, err
	}
	info, err := c.buildSession(r, scope)
	if err != nil {
		return nil, err
	}
	if won, err := c.commitSession(context.WithoutCancel(ctx), info); won || err != nil {
		return info, err
	}
	return c.findCreated(ctx, r)
}

// buildSession returns the session that the request describes.
func (c *Commands) buildSession(r CreateRequest, scope *location.Scope) (*session.Session, error) {
	now := c.journal.Now()
	info := &session.Session{
		ID: r.ID, ParentID: r.ParentID, ProjectID: scope.ProjectID, Agent: r.Agent, Model: r.Model,
		Time: session.SessionTime{Created: now.UnixMilli(), Updated: now.UnixMilli()}, Title: r.Title,
		Location: scope.Location, Subpath: scope.Subpath, Slug: slugOf(string(r.ID)), Version: c.version,
		Permission: r.Permission, Open: r.Open, Budget: r.Budget, Metadata: r.Metadata,
	}
	if r.ParentID == "" {
		info.Budget = r.Budget.WithDefaults(scope.Budget)
	}
	if info.Title == "" {
		info.Title = placeholderTitle(r.ParentID != "", now)
		return info, nil
	}
	title, err := parseTitle(info.Title)
	info.Title, info.TitledBy = title, "user"
	return info, err
}

// commitSession commits the session's first event. It returns false if another request created the session meanwhile.
func (c *Commands) commitSession(ctx context.Context, info *session.Session) (won bool, _ error) {
	events, err := c.journal.Log.Append(ctx, info.ID, store.Durable, func(tx store.Tx) ([]eventlog.Draft, error) {
		if _, ok, err := tx.Session(info.ID); err != nil || ok {
			return nil, err
		}
		if err := checkUnspent(tx, info.ID); err != nil {
			return nil, err
		}
		if info.ParentID != "" {
			if _, err := journal.FindSession(tx, info.ParentID); err != nil {
				return nil, err
			}
		}
		return eventlog.NewDrafts(&session.Created{Info: *info}), nil
	})
	return len(events) > 0, err
}

// checkUnspent refuses an id under which a deleted session has entries in the ledger: those of a new session would be
// taken for them.
func checkUnspent(tx store.Tx, id session.ID) error {
	spent, err := tx.Spent(id, 0)
	if err != nil || len(spent) == 0 {
		return err
	}
	return session.Conflict("session", string(id),
		"was used by a deleted session, whose cost is stored under this id; use another id")
}

// maxMetadata is the size of the metadata of a session in bytes.
const maxMetadata = 64 << 10

func checkMetadata(v jsontext.Value) error {
	switch {
	case v == nil:
		return nil
	case v.Kind() != '{' || !v.IsValid():
		return session.Errorf(session.CodeInvalid, "metadata must be an object").At("metadata")
	case len(v) > maxMetadata:
		return session.Errorf(session.CodeInvalid, "metadata has %d bytes, the limit is %d", len(v), maxMetadata).At("metadata")
	default:
		return nil
	}
}
