package v1

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/branchwatch"
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Config of an API. All fields but Head, Condition, Logger and WriteMetrics are required.
type Config struct {
	Commands    SessionCommands
	Reverts     RevertCommands
	Asks        AskService
	Runs        SessionRuns
	Store       store.Viewer
	Log         broadcast.Log
	IDs         *session.IDs
	Backend     Backend
	Worktrees   Worktrees
	Shares      Shares
	Credentials Credentials
	Terminals   *pty.Terminals
	Directory   string // the location of requests that name none
	Version     string // of cairn
	// Head returns git's HEAD of a directory: "ref: refs/heads/BRANCH" or a commit, "" outside of a checkout. It must
	// be cheap.
	Head      func(directory string) string
	Condition func() error // why nothing can be written now; nil if writes work
	Logger    *slog.Logger
	// WriteMetrics writes the metrics of the process for Prometheus; nil if they are not served.
	WriteMetrics func(io.Writer) error
}

// dependencies holds what all handlers share: the configuration, and the state of the API.
type dependencies struct {
	Config

	started  int64 // in milliseconds
	document func() ([]byte, error)

	notices    notices
	deliveries broadcast.DeliveryTracker
	branches   branchwatch.Watcher
	updates    *broadcast.Broadcaster[*encodedUpdate]
	logins     providerLogins
	long       httpio.LongRequests // streams, and requests that wait for a session
}

// findLocation returns the location of the request with symbolic links resolved, which is the name that sessions and
// their events use. There are no workspaces: a request that names one is meant for another server.
func (d *dependencies) findLocation(r *http.Request) (l session.Location, named bool, err error) {
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

// publishBranch tells the streams that another branch is checked out in the directory; "" is a detached commit.
func (d *dependencies) publishBranch(ctx context.Context, directory, head string) {
	l, err := d.Backend.Location(ctx, session.Location{Directory: directory})
	if err != nil {
		return
	}
	branch, ok := strings.CutPrefix(head, "ref: refs/heads/")
	if !ok {
		branch = ""
	}
	d.notices.Send(notice{directory, l.ProjectID, kindBranch, branchUpdated{branch}})
}
