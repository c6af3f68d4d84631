package admit

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// CreateSession creates a session. The same id with the same content returns the session as it is now; with other
// content it is a conflict (AD-1). Agent and model are checked against the location first, so that no session is
// created that cannot be prompted.
func (c *Commands) CreateSession(ctx context.Context, r CreateRequest) (*session.Session, error) {
	if err := c.checkRequest(r.UnderWay); err != nil {
		return nil, err
	}
	if err := r.authorize(ctx); err != nil {
		return nil, err
	}
	// A known id is answered without any check: its receipt must not depend on the configuration of today.
	if r.ID == "" {
		r.ID = session.ID(c.journal.IDs.New(session.PrefixSession))
	} else if err := session.CheckID("id", session.PrefixSession, string(r.ID)); err != nil {
		return nil, err
	}
	if s, err := c.findCreated(ctx, r); s != nil || err != nil {
		return s, err
	}
	// What the session may do is on the audit trail before the session exists.
	if err := c.recordGrants(ctx, r); err != nil {
		return nil, err
	}
	// Check what it names against its location.
	scope, release, err := c.locations.Scope(ctx, r.Location)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := cmp.Or(
		scope.CheckSelection(r.Agent, r.Model), session.CheckRules("permission", r.Permission), r.Budget.Check("budget"),
		checkMetadata(r.Metadata), scope.RequireSandbox(r.Sandbox), r.Timezone.Check("timezone"),
	); err != nil {
		return nil, err
	}
	if r.RequireModel {
		if err := scope.CheckModel(r.Agent, r.Model); err != nil {
			return nil, err
		}
	}
	// Commit it. Another caller may have been faster with the same id; then its session counts.
	info, err := r.buildSession(scope, c.version, c.journal.Now())
	if err != nil {
		return nil, err
	}
	won, err := c.commitSession(context.WithoutCancel(ctx), info)
	if won {
		c.created(scope, info)
	}
	if won || err != nil {
		return info, err
	}
	return c.findCreated(ctx, r)
}

// findCreated returns the session that the same request created before, nil if the id is free. An id that was used
// with other content is a conflict.
func (c *Commands) findCreated(ctx context.Context, r CreateRequest) (s *session.Session, _ error) {
	var first *session.Created
	err := c.journal.Store.View(ctx, func(rd store.Reader) (err error) {
		var ok bool
		if s, ok, err = rd.Session(r.ID); err != nil || !ok {
			s = nil
			return err
		}
		first, err = readCreated(rd, r.ID)
		return err
	})
	if err != nil || s == nil {
		return nil, err
	}
	if !isSameCreation(first.Info, r) || !c.isSameLocation(ctx, first.Info.Location, r) {
		return nil, session.Conflict("session", string(r.ID),
			"was created with other content; use a new id for another session")
	}
	return s, nil
}

// isSameLocation reports whether the request names the location l, by any of its names, or none.
func (c *Commands) isSameLocation(ctx context.Context, l session.Location, r CreateRequest) bool {
	if r.Unplaced || r.Location == l {
		return true
	}
	scope, release, err := c.locations.Scope(ctx, r.Location)
	if err != nil {
		return false
	}
	defer release()
	return scope.Location == l
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
			parent, err := store.FindSession(tx, info.ParentID)
			if err != nil {
				return nil, err
			}
			info.Timezone = cmp.Or(info.Timezone, parent.Timezone)
			info.Ephemeral = info.Ephemeral || parent.Ephemeral
			if parent.Sandbox.IsConfined() {
				info.Sandbox = info.Sandbox.ChooseStricter(parent.Sandbox)
			}
		}
		return eventlog.NewDrafts(&session.Created{Info: *info}), nil
	})
	return len(events) > 0, err
}

// checkUnspent refuses an id under which the costs of a deleted session are stored: those of a new session would be
// taken for them.
func checkUnspent(tx store.Reader, id session.ID) error {
	spent, err := tx.Spent(id, 0)
	if err != nil || len(spent) == 0 {
		return err
	}
	return session.Conflict("session", string(id),
		"was used by a deleted session, whose cost is stored under this id; use another id")
}
