package command

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

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
	isSameBudget := func(a, b session.Budget) bool { return a == b }
	return s.ParentID == r.ParentID && s.Agent == r.Agent && title == cleanTitle(r.Title) &&
		equalPointers(s.Model, r.Model, session.ModelRef.Equal) &&
		equalPointers(
			s.Budget,
			r.Budget.WithDefaults(s.Budget),
			isSameBudget,
		) && // a limit that the request leaves open fits
		slices.Equal(
			s.Permission,
			r.Permission,
		) && s.Open == r.Open && s.Sandbox.IsAtLeast(r.Sandbox) && string(s.Metadata) == string(r.Metadata)
}

func equalPointers[T any](a, b *T, equal func(T, T) bool) bool {
	return a == b || a != nil && b != nil && equal(*a, *b)
}
