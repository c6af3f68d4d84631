package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// repeated returns the session that was created by the same request before, nil if the id is free. An id that was used
// with other content is a conflict.
func (e *Engine) repeated(ctx context.Context, r CreateRequest) (s *session.Session, _ error) {
	var first *session.Created
	err := e.store.View(ctx, func(rd store.Reader) (err error) {
		var ok bool
		if s, ok, err = rd.Session(r.ID); err != nil || !ok {
			s = nil
			return err
		}
		first, err = creation(rd, r.ID)
		return err
	})
	if err != nil || s == nil {
		return nil, err
	}
	if !sameCreation(first.Info, r) || !e.samePlace(ctx, first.Info.Location, r) {
		return nil, session.Conflict("session", string(r.ID), "was created with other content; use a new id for another session")
	}
	return s, nil
}

// creation reads the first event of a session.
func creation(rd store.Reader, id session.ID) (*session.Created, error) {
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

// sameCreation reports whether the session was created with what the request says, but for its place.
func sameCreation(s session.Session, r CreateRequest) bool {
	title := ""
	if s.TitledBy == "user" {
		title = s.Title
	}
	return s.ParentID == r.ParentID && s.Agent == r.Agent && title == strings.TrimSpace(strings.ToValidUTF8(r.Title, "\uFFFD")) &&
		samePointed(s.Model, r.Model, session.ModelRef.Equal) &&
		samePointed(s.Budget, r.Budget.Or(s.Budget), func(a, b session.Budget) bool { return a == b }) && // what it left open was filled in
		slices.Equal(s.Permission, r.Permission) && s.Open == r.Open && string(s.Metadata) == string(r.Metadata)
}

// samePlace reports whether the request names the place, or none.
func (e *Engine) samePlace(ctx context.Context, l session.Location, r CreateRequest) bool {
	if r.Unplaced || r.Location == l {
		return true
	}
	scope, release, err := e.locations.Scope(ctx, r.Location) // the same place may have several names
	if err != nil {
		return false
	}
	defer release()
	return scope.Location == l
}

func samePointed[T any](a, b *T, equal func(T, T) bool) bool {
	return a == b || a != nil && b != nil && equal(*a, *b)
}
