// Package v1 serves the V1 contract over HTTP: OpenCode's /session, /config, /file and their neighbours, as a view of
// cairn's sessions. It stores nothing.
//
// A handler is one call through one door: it changes a session through the engine, reads in one View of the store, or
// watches the log. Package opencode converts what it answers.
//
// What a client is promised:
//
//   - Responses have the shapes of OpenCode 1.18.33. Operations whose capability is not built yet answer like an
//     OpenCode that has none of it configured.
//   - Errors have OpenCode's envelopes. A malformed request is 400 and names the field, also where OpenCode answers
//     500. Unknown paths and methods are answered in JSON, never in HTML.
//   - The location of a request is the directory of its query, else of its header, else the server's own. The
//     operations of a session use the session's location.
//
// Package server decides who may call.
package v1

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/server/operation"
)

// API serves the contract. It is safe for concurrent use.
type API struct{ *dependencies }

// New returns an API. It starts no goroutine.
func New(c Config) *API {
	d := &dependencies{Config: c, started: time.Now().UnixMilli()}
	if d.Head == nil {
		d.Head = func(string) string { return "" }
	}
	if d.Condition == nil {
		d.Condition = func() error { return nil }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.document = NewDocument
	d.updates = newUpdates(d.Store, d.IDs)
	d.branches.Head, d.branches.Changed = d.Head, d.publishBranch
	return &API{d}
}

// Close ends all streams, waits and browser logins, those that are open and those that start later. Other requests go
// on.
func (a *API) Close() {
	a.long.Close()
	a.logins.close()
}

// NewHandler returns the operations as a handler. Unknown paths are 404 and unknown methods 405, both with a body.
func (a *API) NewHandler() http.Handler {
	return operation.Contract{
		Operations: a.listOperations(), Locate: a.findLocation, Fail: a.Fail,
		Unlisted: []string{"directory", "workspace", "ticket"},
	}.NewHandler()
}

// TicketHolder returns whose valid ticket the request uses to connect to a terminal. Such a request needs no other
// credentials.
func (a *API) TicketHolder(r *http.Request) (caller.Caller, bool) {
	id, ok := strings.CutPrefix(r.URL.Path, "/pty/")
	if !ok || r.Method != http.MethodGet || a.Terminals == nil {
		return caller.Caller{}, false
	}
	id, ok = strings.CutSuffix(id, "/connect")
	ticket, _ := protocolTicket(r.Header.Get("Sec-WebSocket-Protocol"))
	h, valid := a.Terminals.FindTicket(cmp.Or(r.URL.Query().Get("ticket"), ticket), id)
	return h.Caller, ok && valid && h.Origin == r.Header.Get("Origin")
}
