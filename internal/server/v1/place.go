package v1

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/server/exchange"
	"github.com/cairn-dev/cairn/internal/session"
)

// Places tells what a directory offers. Errors that callers should see are *session.Error. The directory is absolute
// and clean.
type Places interface {
	Place(ctx context.Context, l session.Location) (Place, error)
	// Home returns the folders of this user and of this installation.
	Home() Home
}

// Place is a location as it was read at one moment.
type Place struct {
	Directory string
	Worktree  string // the top of its checkout, "/" outside of one
	ProjectID session.ProjectID
}

// Home is where things of the user live.
type Home struct{ Home, Config, State string }

// locate returns the location that the request is about. There are no workspaces: whoever names one means another server.
func (a *API) locate(r *http.Request) (session.Location, error) {
	l, _, err := exchange.Locator{QueryDirectory: "directory", QueryWorkspace: "workspace", Directory: a.directory, Relative: true}.Locate(r)
	if err == nil && l.WorkspaceID != "" {
		err = session.NotFound("workspace", l.WorkspaceID)
	}
	return l, err
}

// place returns what the directory of the request offers.
func (a *API) place(r *http.Request) (Place, error) {
	l, err := a.locate(r)
	if err != nil {
		return Place{}, err
	}
	return a.places.Place(r.Context(), l)
}
