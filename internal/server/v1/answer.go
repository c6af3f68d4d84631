package v1

import (
	"net/http"

	"github.com/cairn-dev/cairn/internal/server/httpio"
)

// write answers with v as JSON. Nothing is written if v cannot be encoded.
func write(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

func writeStatus(w http.ResponseWriter, status int, v any) error {
	b, err := httpio.Encode(v)
	if err != nil {
		return err
	}
	return httpio.WriteJSON(w, status, b)
}

// yes is what many changes answer.
func yes(w http.ResponseWriter) error { return httpio.WriteJSON(w, http.StatusOK, []byte("true")) }

// done answers without a body.
func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}
