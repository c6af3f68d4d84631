package sdk

import (
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

// newOther returns an event in the form of the V2 API.
func newOther(e session.Event) EventData {
	raw, err := json.Marshal(e.Data, json.Deterministic(true))
	if err != nil { // cannot be: it was decoded from that form
		raw = []byte("null")
	}
	return Other{string(e.Data.Kind()), raw}
}
