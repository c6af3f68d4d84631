package v1

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// deps is what the handlers work with.
type deps struct {
	Config

	started int64 // in milliseconds

	notices    notices
	deliveries broadcast.DeliveryTracker
	branches   branchWatcher
	updates    *broadcast.Broadcaster[*encodedUpdate]
	logins     browserLogins
	long       httpio.LongRequests // streams, and requests that wait for a session
}

// locate returns the location of the request with symbolic links resolved, which is the name that sessions and their events
// use. There are no workspaces: a request that names one is meant for another server.
func (d *deps) locate(r *http.Request) (l session.Location, named bool, err error) {
	l, named, err = httpio.Locator{
		QueryDirectory: "directory", QueryWorkspace: "workspace", Directory: d.Directory, Relative: true,
	}.Locate(r)
	if err == nil && l.WorkspaceID != "" {
		err = session.NotFound("workspace", l.WorkspaceID)
	}
	if resolved, failed := filepath.EvalSymlinks(filepath.FromSlash(l.Directory)); failed == nil {
		l.Directory = filepath.ToSlash(resolved)
	}
	return l, named, err
}

// findSession reads a session.
func (d *deps) findSession(ctx context.Context, id session.ID) (*session.Session, error) {
	return store.Query(ctx, d.Store, func(rd store.Reader) (*session.Session, error) { return store.FindSession(rd, id) })
}
