package httpio

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// NewUnauthorized is the error for callers that are nobody.
func NewUnauthorized(message string) error {
	e := session.Errorf(session.CodeDenied, "%s", message)
	e.Kind = api.KindAuth
	return e
}

// NewUnsupportedMedia is the error for bodies that are not declared as JSON.
func NewUnsupportedMedia(got string) error {
	e := session.Errorf(session.CodeInvalid, "the body must be sent as application/json, got %q", Clip(got, 100))
	e.Kind = api.KindMedia
	return e
}

// NewUnsupportedEncoding is the error for bodies that are not sent as they are.
func NewUnsupportedEncoding(how string) error {
	e := session.Errorf(session.CodeInvalid, "the body must be sent as it is, got Content-Encoding %q", Clip(how, 100))
	e.Kind = api.KindMedia
	return e
}

// IsClientGone reports whether the error is only that nobody waits for the answer any more.
func IsClientGone(r *http.Request, err error) bool {
	return r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(r.Context())))
}

// PublicError returns the error as it may be told.
func PublicError(err error) *session.Error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code != session.CodeInternal {
		return e
	}
	if errors.Is(err, store.ErrUnavailable) {
		return storeError(err)
	}
	return session.Errorf(session.CodeInternal, "Unexpected server error. Check server logs for details.")
}

// storeError says what keeps the store from working. One that is closing, or that does not know how a commit came out,
// may be asked again; so may the next owner.
func storeError(err error) *session.Error {
	kind, words := api.KindStore, "the data cannot be read or written now; run cairn doctor to see why"
	switch {
	case errors.Is(err, store.ErrDamaged):
		kind, words = api.KindDamaged, damageMessage(err)
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

// damageMessage says how much is damaged.
func damageMessage(err error) string {
	if d, ok := errors.AsType[*store.Damage](err); ok && d.SessionID != "" {
		return fmt.Sprintf("stored data of session %s is damaged; run cairn doctor", d.SessionID)
	}
	return "stored data is damaged; run cairn doctor"
}

// NewRef names a log line for the one who got the answer.
func NewRef() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "err_" + hex.EncodeToString(b[:])
}
