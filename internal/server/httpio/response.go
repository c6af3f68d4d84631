package httpio

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// outward is how JSON is written for clients. Names of files and branches, texts of other programs and words of the
// environment are bytes of any kind: what is no text of them becomes U+FFFD, and the rest is told.
var responseOptions = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// Encode writes what an answer, or a frame of a stream, has as its JSON.
func Encode(v any) ([]byte, error) { return json.Marshal(v, responseOptions) }

// WriteJSON answers with the JSON.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is told nothing
	return nil
}
