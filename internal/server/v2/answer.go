package v2

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// write answers with v as JSON. Nothing is written if v cannot be encoded.
func write(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, b)
}

// data answers with {"data": v}.
func data[T any](w http.ResponseWriter, v T) error { return write(w, api.Data[T]{Data: v}) }

func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is told nothing
	return nil
}

// Fail answers with the error as every operation does: for those who decide before the operations are reached.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) { a.fail(w, r, err) }

// Unauthorized is the error for callers that are nobody.
func Unauthorized(message string) error {
	e := session.Errorf(session.CodeDenied, "%s", message)
	e.Kind = api.KindAuth
	return e
}

// Unsupported is the error for bodies that are not declared as JSON.
func Unsupported(got string) error {
	e := session.Errorf(session.CodeInvalid, "the body must be sent as application/json, got %q", clip(got, 100))
	e.Kind = api.KindMedia
	return e
}

// fail tells the error. Words of errors that are not ours go to the log only, under a ref that the answer names.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := known(err)
	c := api.ErrorContext{SessionID: r.PathValue("sessionID")}
	if i, ok := errors.AsType[*invalid](err); ok {
		c.Part = i.part
	}
	switch {
	case e.Code == session.CodeInternal && gone(r, err):
		w.WriteHeader(http.StatusServiceUnavailable) // nobody reads it
		return
	case e.Code == session.CodeInternal:
		c.Ref = newRef()
		a.logger.ErrorContext(r.Context(), "request failed", "ref", c.Ref, "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Code == session.CodeTooMany, e.Code == session.CodeUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	status, body := api.EncodeError(e, c)
	_ = writeJSON(w, status, body)
}

func gone(r *http.Request, err error) bool {
	return r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.Context())))
}

// known returns the error as it may be told.
func known(err error) *session.Error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code != session.CodeInternal {
		return e
	}
	if errors.Is(err, store.ErrUnavailable) {
		return unavailable(err)
	}
	return session.Errorf(session.CodeInternal, "Unexpected server error. Check server logs for details.")
}

// unavailable says what keeps the store from working. One that is closing, or that does not know how a commit came out,
// may be asked again; so may the next owner.
func unavailable(err error) *session.Error {
	kind, words := api.KindStore, "the data cannot be read or written now; run cairn doctor to see why"
	switch {
	case errors.Is(err, store.ErrDamaged):
		kind, words = api.KindDamaged, damageWords(err)
	case errors.Is(err, store.ErrGone):
		words = "the database was removed or replaced while cairn had it open, so nothing can be written; " +
			"stop this cairn, put the database back, and run cairn doctor"
	case errors.Is(err, store.ErrReadOnly):
		words = "the data is open for reading only; run cairn doctor to see why"
	case errors.Is(err, store.ErrFull):
		words = "the disk is full: nothing can be written until there is room"
	case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrUncertain):
		kind = ""
	}
	e := session.Errorf(session.CodeUnavailable, "%s", words)
	e.Kind = kind
	return e
}

// damageWords says how much is damaged.
func damageWords(err error) string {
	if d, ok := errors.AsType[*store.Damage](err); ok && d.SessionID != "" {
		return fmt.Sprintf("stored data of session %s is damaged; run cairn doctor", d.SessionID)
	}
	return "stored data is damaged; run cairn doctor"
}

// newRef names a log line for the one who got the answer.
func newRef() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "err_" + hex.EncodeToString(b[:])
}
