// Package v2 serves the V2 contract over HTTP: OpenCode's /api, and additional operations of cairn.
//
// A handler is one call through one door: it changes a session through the engine, reads in one View of the store, or
// watches the log. Its operation decodes and encodes; it calls, and does not know how the engine works.
//
// What a client is promised:
//
//   - Responses have OpenCode's shapes. Additional fields that recorded responses lack come only with all=1. Events and
//     messages are the stored bytes, with their additional fields.
//   - Every error is a tagged body of package api. An error of the client is 4xx; 5xx is the server's, and its ref is
//     in the log.
//   - Streams replay from their cursor and then follow. Each durable event comes once and in order; a slow reader
//     delays no other reader. The id of every frame is the cursor after which a reader resumes: a durable frame's own
//     position, or that of the durable frame before it.
//   - Bodies are JSON without duplicate names, at most httpio.MaxDepth deep. Unknown members are ignored, as in
//     OpenCode, unless they differ from a known one only in case.
//
// Package server decides who may call.
package v2

import (
	"log/slog"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// API serves the contract. It is safe for concurrent use.
type API struct{ *dependencies }

// New returns an API. It starts no goroutine.
func New(c Config) *API {
	d := &dependencies{Config: c, document: NewDocument, frames: newFrameCache()}
	if d.Condition == nil {
		d.Condition = func() error { return nil }
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.Health.Healthy, d.Health.Directory = true, c.Directory
	return &API{d}
}

// Close ends all streams and waits, those that are open and those that start later. Other requests go on.
func (a *API) Close() { a.long.Close() }

// NewHandler returns the operations as a handler. Unknown paths are 404 and unknown methods 405, both with a body.
func (a *API) NewHandler() http.Handler {
	return operation.Contract{
		Operations: a.listOperations(), Locate: a.findLocation, Fail: a.Fail, RequireJSON: true,
		Unlisted: []string{"location[directory]", "location[workspace]"},
	}.NewHandler()
}

// Fail answers with an error. The texts of internal errors go to the log only, under a ref that the response names.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	e := httpio.PublicError(err)
	c := api.ErrorContext{SessionID: r.PathValue("sessionID"), Part: httpio.ErrorPart(err)}
	switch {
	case e.Code == session.CodeInternal && httpio.IsClientGone(r, err):
		w.WriteHeader(http.StatusServiceUnavailable) // for the log: the client has disconnected
		return
	case e.Code == session.CodeInternal:
		c.Ref = httpio.NewRef()
		a.Logger.ErrorContext(r.Context(), "request failed",
			"ref", c.Ref, "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Code == session.CodeTooMany, e.Code == session.CodeUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	status, body := api.EncodeError(e, c)
	_ = httpio.WriteEncoded(w, status, body)
}
