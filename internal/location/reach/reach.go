// Package reach limits callers without the scope approve to directories in which a session works, its project lies or
// the server was started.
package reach

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Guard checks the directories of requests. It is safe for concurrent use.
type Guard struct {
	Sessions store.Viewer
	Home     string // of the user
	Served   string // the directory in which the server was started
	// FindRecord returns the record of the project of a directory, "" without one. It stores nothing.
	FindRecord func(ctx context.Context, dir string) (session.RecordID, error)
}

// CheckDirectory returns an error with the reason scope_missing if the caller has no scope approve and the directory is
// not known. A directory is known if a session is in the directory or in one above it, its project has a session, or
// the server was started in it or above it. The user's home and the directories above it open nothing below them, and
// are open themselves only if a session is in them.
func (g *Guard) CheckDirectory(ctx context.Context, dir string) error {
	if caller.FromContext(ctx).Role >= caller.Approve {
		return nil
	}
	known, err := g.isKnown(ctx, dir)
	if err != nil || known {
		return err
	}
	return caller.Require(ctx, caller.Approve,
		fmt.Sprintf("the directory %q, in which no session or project is known,", session.ClipText(dir, 200)))
}

func (g *Guard) isKnown(ctx context.Context, dir string) (known bool, err error) {
	real, err := workpath.ResolveLinks(dir)
	if err != nil {
		return false, nil // a directory that cannot be resolved is in none that is known
	}
	err = g.Sessions.View(ctx, func(r store.Reader) (err error) {
		known, err = hasSession(r, store.SessionQuery{Directory: dir})
		for at := real; err == nil && !known && !g.containsHome(at); at = filepath.Dir(at) {
			if known = at == g.Served; !known {
				known, err = hasSession(r, store.SessionQuery{Directory: at})
			}
		}
		return err
	})
	if err != nil || known || g.containsHome(real) {
		return known, err
	}
	record, err := g.FindRecord(ctx, real)
	if err != nil || record == "" {
		return false, nil // the directory does not exist, or its project is not known
	}
	err = g.Sessions.View(ctx, func(r store.Reader) (err error) {
		known, err = hasSession(r, store.SessionQuery{RecordID: record})
		return err
	})
	return known, err
}

// containsHome reports whether the directory is the user's home or above it.
func (g *Guard) containsHome(dir string) bool {
	if filepath.Dir(dir) == dir {
		return true // the end of every walk upwards
	}
	home, err := workpath.ResolveLinks(g.Home)
	return err != nil || dir == home || strings.HasPrefix(home, dir+string(filepath.Separator))
}

// hasSession reports whether a session matches the query, archived ones included.
func hasSession(r store.Reader, q store.SessionQuery) (bool, error) {
	q.Archived, q.Limit = true, 1
	rows, err := r.RawSessions(q)
	return len(rows) > 0, err
}
