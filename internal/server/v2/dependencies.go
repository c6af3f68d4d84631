package v2

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// Config of an API. All fields but Files, Explainer, Requests, Doctor, Condition and Logger are required.
type Config struct {
	Commands  SessionCommands
	Inbox     InboxCommands
	Reverts   RevertCommands
	Asks      AskService
	Runs      SessionRuns
	Jobs      JobService
	Archive   ArchiveService
	Store     store.Viewer
	Log       broadcast.Log
	IDs       *session.IDs
	Locations Locations
	Worktrees Worktrees
	Projects  Projects
	Searcher  Searcher
	Storage   Storage
	Shares    Shares
	Editors   Editors
	Files     Files // nil: locations have no files
	Explainer Explainer
	Requests  RequestInspector
	Doctor    Doctor
	Directory string // the location of requests that name none
	Health    api.Health
	Condition func() error // why nothing can be written now; nil if writes work
	Logger    *slog.Logger
}

// dependencies holds what all handlers share: the configuration, and the state of the API.
type dependencies struct {
	Config

	document func() ([]byte, error)
	long     httpio.LongRequests // streams, and requests that wait
	frames   *frameCache
}

// sessionIn is a request about one session.
type sessionIn struct {
	SessionID session.ID `path:"sessionID"`
}

// bodyOf is a request about one session with a body.
type bodyOf[Body any] struct {
	sessionIn
	Body Body `body:"required"`
}

// locationIn is a request about a location that the query names.
type locationIn struct {
	Location operation.Location `query:"location"`
}

// allFields reports whether a client asks for the additional fields and kinds of cairn.
type allFields bool

// DecodeRequest implements operation.Decoder.
func (a *allFields) DecodeRequest(r *http.Request) error {
	v := r.URL.Query().Get("all")
	*a = v == "1" || v == "true"
	return nil
}

// findLocation returns the location of the request, and whether the request names it.
func (d *dependencies) findLocation(r *http.Request) (l session.Location, named bool, err error) {
	if r.URL.Query().Has("location") {
		return l, true, httpio.NewInvalid("query", "location", "location must be an object: location[directory]=PATH")
	}
	return httpio.Locator{
		QueryDirectory: "location[directory]", QueryWorkspace: "location[workspace]", Directory: d.Directory,
	}.Locate(r)
}

// newData returns the response {"data": v}.
func newData[T any](v T) api.Data[T] { return api.Data[T]{Data: v} }

// listAt returns the location and a list of what list finds there.
func listAt[T any](
	ctx context.Context, d *dependencies, l session.Location, list func(context.Context, session.Location) ([]T, error),
) (out api.AtLocation[[]T], err error) {
	if out.Location, err = d.Locations.Location(ctx, l); err != nil {
		return out, err
	}
	out.Location = withoutDetails(out.Location)
	out.Data, err = list(ctx, l)
	return out, err
}

// withoutDetails removes what only the answer about the location itself has, with all=1.
func withoutDetails(l api.LocationInfo) api.LocationInfo {
	l.Model, l.Repository, l.RecordID, l.Unlinked = nil, "", "", false
	return l
}

// listNothing lists what no location has: references to other projects, and integrations, which are providers in cairn.
func (d *dependencies) listNothing(ctx context.Context, in locationIn) (api.AtLocation[[]struct{}], error) {
	return listAt(ctx, d, in.Location.Location, func(context.Context, session.Location) ([]struct{}, error) {
		return []struct{}{}, nil
	})
}

// sessionFieldsIn is a request about one session with the fields to return.
type sessionFieldsIn struct {
	sessionIn
	All allFields `query:"all"`
}

// listIn is a request for a list of what a location offers.
type listIn struct {
	locationIn
	All allFields
}

// askIn is a request about one ask of a session.
type askIn struct {
	sessionIn
	RequestID session.AskID `path:"requestID" id:"per,que"`
}
