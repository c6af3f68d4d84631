package httpio

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// responseOptions are the options of the encoding of responses. File names, branches, the output of other programs and
// the environment may hold any bytes: invalid UTF-8 becomes U+FFFD instead of failing the response.
var responseOptions = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// Encode returns the JSON of a response or of a frame of a stream.
func Encode(v any) ([]byte, error) { return json.Marshal(v, responseOptions) }

// WriteJSON answers with the JSON of v, or without a body if v is nil. It writes nothing if v cannot be encoded.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	if v == nil {
		w.WriteHeader(status)
		return nil
	}
	b, err := Encode(v)
	if err != nil {
		return err
	}
	return WriteEncoded(w, status, b)
}

// WriteEncoded answers with JSON that is encoded already. A client that has disconnected is no error.
func WriteEncoded(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return nil
}
