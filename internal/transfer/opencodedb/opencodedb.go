// Package opencodedb reads the SQLite databases of OpenCode 1.2 and later. A database can hold sessions of two forms:
// those of 1.x in the tables session, message, part and todo, those of 2.x in session_v2 and session_message. A session
// in both is read in its newer form, unless it has no messages there.
package opencodedb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/sqlitefile"
)

// Find returns the names of the databases in OpenCode's data folder: opencode.db, and opencode-CHANNEL.db of other
// channels than the released one.
func Find(data fs.FS) ([]string, error) {
	found, err := fs.Glob(data, "opencode-*.db")
	if _, statErr := fs.Stat(data, "opencode.db"); statErr == nil {
		found = append([]string{"opencode.db"}, found...)
	}
	return found, err
}

// Read gives the sessions of the database, one at a time, and returns the problems that belong to no session. Its error
// is that of give, of the context, or of a database that cannot be read.
func Read(ctx context.Context, path string, give func(foreign.Session) error) ([]foreign.Problem, error) {
	db, err := sqlitefile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	r := &reader{db: db, give: give}
	if err = r.read(ctx); err == nil {
		err = db.Check()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.problems, err
}

// reader is the reading of one database.
type reader struct {
	db       *sqlitefile.DB
	give     func(foreign.Session) error
	hasTodos bool
	problems []foreign.Problem
}

// read gives the sessions of 2.x, and then those of 1.x that 2.x lacks.
func (r *reader) read(ctx context.Context) error {
	// Which generations are in the database?
	hasV1, err := r.hasTables("session", "message", "part")
	if err != nil {
		return err
	}
	hasV2, err := r.hasTables("session_v2", "session_message")
	if err != nil {
		return err
	}
	if r.hasTodos, err = r.hasTables("todo"); err != nil {
		return err
	}
	if !hasV1 && !hasV2 {
		return errors.New("the database has no table of OpenCode's sessions")
	}
	// Read 2.x, then 1.x. Both lists are of ids only, so that one session is in memory at a time.
	lacking := ""
	if hasV2 {
		newer := `FROM session_v2 s`
		if hasV1 {
			newer += ` WHERE EXISTS (SELECT 1 FROM session_message m WHERE m.session_id = s.id)
				OR NOT EXISTS (SELECT 1 FROM session o WHERE o.id = s.id)`
			lacking = ` WHERE s.id NOT IN (SELECT s.id ` + newer + `)`
		}
		if err := r.readAll(ctx, newer, r.readV2); err != nil {
			return err
		}
		if err := r.findOrphans("session_v2", "session_message"); err != nil {
			return err
		}
	}
	if !hasV1 {
		return nil
	}
	if err := r.readAll(ctx, `FROM session s`+lacking, r.readV1); err != nil {
		return err
	}
	return r.findOrphans("session", "message")
}

// findOrphans notes messages whose session is missing.
func (r *reader) findOrphans(sessions, messages string) error {
	query := `SELECT count(*), count(DISTINCT session_id) FROM ` + messages + ` m
		WHERE NOT EXISTS (SELECT 1 FROM ` + sessions + ` s WHERE s.id = m.session_id)`
	for row, err := range r.db.Rows(query) {
		if errors.Is(err, sqlitefile.ErrDamaged) {
			r.problem(messages, err.Error())
			return nil
		}
		if err != nil {
			return err
		}
		if n := row.Int(0); n > 0 {
			r.problem(messages, fmt.Sprintf("%d messages are of %d sessions that are missing", n, row.Int(1)))
		}
	}
	return nil
}

// hasTables reports whether the database has all of the tables.
func (r *reader) hasTables(names ...string) (bool, error) {
	for _, name := range names {
		columns, err := r.db.Columns(name)
		if err != nil || len(columns) == 0 {
			return false, err
		}
	}
	return true, nil
}

// readAll gives the sessions of a query. One that lies in a damaged part of the database is a problem, and the others
// are read.
func (r *reader) readAll(ctx context.Context, from string, read func(id string) (foreign.Session, error)) error {
	for row, err := range r.db.Rows(`SELECT s.id ` + from + ` ORDER BY s.time_created, s.id`) {
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		id := row.Text(0)
		if foreign.CheckID(session.PrefixSession, id) != nil {
			r.problem(id, "its id is not valid")
			continue
		}
		s, err := read(id)
		if errors.Is(err, sqlitefile.ErrDamaged) {
			s.Problems = append(s.Problems, foreign.Problem{Row: id, Reason: err.Error()})
		} else if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		if err := r.give(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) problem(row, reason string) {
	r.problems = append(r.problems, foreign.Problem{Row: session.ClipText(row, 40), Reason: reason})
}

// readTodos returns the rows of the session's todo list.
func (r *reader) readTodos(id string) (out []foreign.Object, err error) {
	if !r.hasTodos {
		return nil, nil
	}
	for row, err := range r.db.Rows(`SELECT * FROM todo WHERE session_id = ?1 ORDER BY position`, id) {
		if err != nil {
			return out, err
		}
		out = append(out, row.Object())
	}
	return out, nil
}
