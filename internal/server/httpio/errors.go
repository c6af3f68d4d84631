package httpio

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// NewUnauthorized returns the error that refuses a caller with 401.
func NewUnauthorized(reason, message string) error {
	e := caller.Refuse(reason, message)
	e.Kind = api.KindAuth
	return e
}

// IsWrongCredential reports whether the error refuses a guess.
func IsWrongCredential(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Reason == caller.ReasonWrong
}

// NewUnsupportedMedia returns the error for bodies that are not declared as JSON.
func NewUnsupportedMedia(got string) error {
	e := session.Errorf(
		session.CodeInvalid, "the body must be sent as application/json, got %q", session.ClipText(got, 100),
	)
	e.Kind = api.KindMedia
	return e
}

// NewUnsupportedEncoding returns the error for compressed bodies.
func NewUnsupportedEncoding(how string) error {
	e := session.Errorf(
		session.CodeInvalid, "the body must be sent as it is, got Content-Encoding %q", session.ClipText(how, 100),
	)
	e.Kind = api.KindMedia
	return e
}

// NewUnimplemented returns the error for a capability that is not built.
func NewUnimplemented(message string) error {
	e := session.Errorf(session.CodeInvalid, "%s", message)
	e.Kind = session.KindUnimplemented
	return e
}

// IsClientGone reports whether the error is only that the client has disconnected.
func IsClientGone(r *http.Request, err error) bool {
	return r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.Context())))
}

// PublicError returns the error that a client may see. The text of an internal error is not part of it.
func PublicError(err error) *session.Error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code != session.CodeInternal {
		return e
	}
	if errors.Is(err, store.ErrUnavailable) {
		return storeError(err)
	}
	return session.Errorf(session.CodeInternal, "Unexpected server error. Check server logs for details.")
}

// storeError says why the store cannot be used. A store that is closing, or that does not know the outcome of a
// commit, can be asked again; so can the next owner of the data.
func storeError(err error) *session.Error {
	kind, words := api.KindStore, "the data cannot be read or written now; run cairn doctor to see why"
	switch {
	case errors.Is(err, store.ErrDamaged):
		kind, words = api.KindDamaged, damageMessage(err)
	case errors.Is(err, store.ErrGone):
		words = "the database was removed or replaced while cairn had it open, so nothing can be written; " +
			"stop this cairn, put the database back, and run cairn doctor"
	case errors.Is(err, store.ErrLeaseLost):
		words = "the lease file of the data was removed or replaced while this cairn owned the data, and another cairn may " +
			"own it now, so this one writes nothing; stop it and start it again"
	case errors.Is(err, store.ErrReadOnly):
		words = "the data is open read-only; run cairn doctor to see why"
	case errors.Is(err, store.ErrFull):
		words = "the disk is full; free some space and try again"
	case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrUncertain):
		kind = ""
	}
	e := session.Errorf(session.CodeUnavailable, "%s", words)
	e.Kind = kind
	return e
}

// CheckComplete returns the condition of a store if it is damaged as a whole: it is unknown what lists lack then.
func CheckComplete(condition error) error {
	if errors.Is(condition, store.ErrDamaged) {
		return condition
	}
	return nil
}

// damageMessage says what is damaged.
func damageMessage(err error) string {
	if d, ok := errors.AsType[*store.Damage](err); ok && d.SessionID != "" {
		return fmt.Sprintf("stored data of session %s is damaged; run cairn doctor", d.SessionID)
	}
	return "stored data is damaged; run cairn doctor"
}

// NewRef returns an identifier that connects a response with its line in the log.
func NewRef() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "err_" + hex.EncodeToString(b[:])
}
