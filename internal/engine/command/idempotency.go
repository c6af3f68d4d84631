package command

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// findCreated returns the session that the same request created before, nil if the id is free. An id that was used with
// other content is a conflict.
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

// readCreated reads the first event of a session.
func readCreated(rd store.Reader, id session.ID) (*session.Created, error) {
	rows, err := rd.Events(id, -1, 1)
	if err != nil {
		return nil, err
	}
	if len(rows) == 1 {
		ev, err := eventlog.Decode(rows[0])
		if err != nil {
			return nil, err
		}
		if d, ok := ev.Data.(*session.Created); ok {
			return d, nil
		}
	}
	return nil, &store.Damage{SessionID: id, Detail: "the log does not begin with the session's creation"}
}

// isSameCreation reports whether the request has the content that the session was created with, except the location.
func isSameCreation(s session.Session, r CreateRequest) bool {
	title := ""
	if s.TitledBy == "user" {
		title = s.Title
	}
	return s.ParentID == r.ParentID && s.Agent == r.Agent && title == cleanTitle(r.Title) &&
		equalPointers(s.Model, r.Model, session.ModelRef.Equal) &&
		equalPointers(s.Budget, r.Budget.WithDefaults(s.Budget), func(a, b session.Budget) bool { return a == b }) && // open limits match
		slices.Equal(s.Permission, r.Permission) && s.Open == r.Open && string(s.Metadata) == string(r.Metadata)
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

func equalPointers[T any](a, b *T, equal func(T, T) bool) bool {
	return a == b || a != nil && b != nil && equal(*a, *b)
}
