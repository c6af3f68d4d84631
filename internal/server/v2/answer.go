package v2

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// write answers with v as JSON. Nothing is written if v cannot be encoded.
func write(w http.ResponseWriter, v any) error {
	b, err := httpio.Encode(v)
	if err != nil {
		return err
	}
	return httpio.WriteJSON(w, http.StatusOK, b)
}

// data answers with {"data": v}.
func data[T any](w http.ResponseWriter, v T) error { return write(w, api.Data[T]{Data: v}) }

func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Fail answers with the error as every operation does: for those who decide before the operations are reached.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) { a.fail(w, r, err) }

// fail tells the error. Words of errors that are not ours go to the log only, under a ref that the answer names.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := httpio.PublicError(err)
	c := api.ErrorContext{SessionID: r.PathValue("sessionID")}
	c.Part = httpio.ErrorPart(err)
	switch {
	case e.Code == session.CodeInternal && httpio.IsClientGone(r, err):
		w.WriteHeader(http.StatusServiceUnavailable) // nobody reads it
		return
	case e.Code == session.CodeInternal:
		c.Ref = httpio.NewRef()
		a.logger.ErrorContext(r.Context(), "request failed", "ref", c.Ref, "method", r.Method, "path", r.URL.Path, "error", err)
	case e.Code == session.CodeTooMany, e.Code == session.CodeUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	status, body := api.EncodeError(e, c)
	_ = httpio.WriteJSON(w, status, body)
}
