// Package v1 serves the V1 contract over HTTP: OpenCode's /session, /config, /file and their neighbours, as a view of
// cairn's sessions. It stores nothing.
//
// A handler is one call through one door: it changes a session through the engine, reads in one View of the store, or
// watches the log. Package opencode converts what it answers.
//
// What a client is promised:
//
//   - Responses have the shapes of OpenCode 1.18.33. Operations whose capability is not built yet answer like an OpenCode
//     that has none of it configured.
//   - Errors have OpenCode's envelopes. A malformed request is 400 and names the field, also where OpenCode answers 500.
//     Unknown paths and methods are answered in JSON, never in HTML.
//   - The location of a request is the directory of its query, else of its header, else the server's own. The operations of
//     a session use the session's location.
//
// Package server decides who may call.
package v1

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Config of an API. All fields but Head, Condition and Logger are required.
type Config struct {
	Commands    Commands
	Asks        Asks
	Runs        Runs
	Store       store.Viewer
	Log         broadcast.Log
	IDs         *session.IDs
	Backend     Backend
	Credentials Credentials
	Terminals   *pty.Terminals
	Directory   string // the location of requests that name none
	Version     string // of cairn
	// Head returns git's HEAD of a directory: "ref: refs/heads/BRANCH" or a commit, "" outside of a checkout. It must be
	// cheap.
	Head      func(directory string) string
	Condition func() error // why nothing can be written now; nil if writes work
	Logger    *slog.Logger
}

// API serves the contract. It is safe for concurrent use.
type API struct{ *deps }

// New returns an API. It starts no goroutine.
func New(c Config) *API {
	d := &deps{Config: c, started: time.Now().UnixMilli()}
	if d.Head == nil {
		d.Head = func(string) string { return "" }
	}
	if d.Condition == nil {
		d.Condition = func() error { return nil }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.updates = newUpdates(d)
	d.branches.head, d.branches.changed = d.Head, d.publishBranch
	return &API{d}
}

// Close ends all streams, waits and browser logins, those that are open and those that start later. Other requests go on.
func (a *API) Close() {
	a.long.Close()
	a.logins.close()
}

// Handler returns the operations as a handler. Unknown paths are 404 and unknown methods 405, both with a body.
func (a *API) Handler() http.Handler {
	return operation.Contract{
		Operations: a.operations(), Locate: a.locate, Fail: a.Fail,
		Unlisted: []string{"directory", "workspace", "ticket"},
	}.Handler()
}

// Operations lists the operations of the contract.
func Operations() []operation.Operation { return (&API{&deps{}}).operations() }

// Admits reports whether the request connects to a terminal with a valid ticket. Such a request needs no other
// credentials.
func (a *API) Admits(r *http.Request) bool {
	id, ok := strings.CutPrefix(r.URL.Path, "/pty/")
	if !ok || r.Method != http.MethodGet || a.Terminals == nil {
		return false
	}
	id, ok = strings.CutSuffix(id, "/connect")
	return ok && a.Terminals.IsTicketValid(r.URL.Query().Get("ticket"), id)
}

// publishBranch tells the streams that another branch is checked out in the directory; "" is a detached commit.
func (d *deps) publishBranch(ctx context.Context, directory, head string) {
	l, err := d.Backend.Location(ctx, session.Location{Directory: directory})
	if err != nil {
		return
	}
	branch, ok := strings.CutPrefix(head, "ref: refs/heads/")
	if !ok {
		branch = ""
	}
	d.notices.publish(notice{directory, l.ProjectID, kindBranch, branchUpdated{branch}})
}
