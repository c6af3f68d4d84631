package store

import (
	"context"

	"github.com/cairn-dev/cairn/internal/session"
)

// Viewer runs read transactions.
type Viewer interface {
	View(ctx context.Context, f func(Reader) error) error
}

// Query runs f in one read transaction and returns its result.
func Query[T any](ctx context.Context, v Viewer, f func(Reader) (T, error)) (out T, err error) {
	err = v.View(ctx, func(r Reader) (err error) {
		out, err = f(r)
		return err
	})
	return out, err
}

// FindSession returns a session. An unknown id is a *session.Error of code not-found.
func FindSession(r SessionReader, id session.ID) (*session.Session, error) {
	s, ok, err := r.Session(id)
	if err == nil && !ok {
		err = session.NotFound("session", string(id))
	}
	return s, err
}

// ReadSession returns a session, read in a transaction of its own. Errors are those of FindSession.
func ReadSession(ctx context.Context, v Viewer, id session.ID) (*session.Session, error) {
	return Query(ctx, v, func(r Reader) (*session.Session, error) { return FindSession(r, id) })
}
