package exchange

import (
	"net/http"
	"strconv"
)

// WriteJSON answers with the JSON.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is told nothing
	return nil
}
