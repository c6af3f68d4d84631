package openaichat

import (
	"io"
	"iter"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Decode yields the events of a 2xx response body, following llm.Model's contract for streams. The requestID is what
// Opened says, which comes with the first chunk. Errors of r that are *llm.Errors are yielded as they are, others as
// class Transport; what the provider reported as used until then goes with them. The secrets are values that were sent
// and must not come back in an error.
//
// Whatever the content type says, the body decides: a web page is Malformed, no body at all is Empty, one JSON object
// is a whole answer or an error.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Stream: wire.NewStream(requestID, yield), d: d, secrets: secrets}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return t.usage })
	}
}

// HandleFrame implements wire.Frames.
func (t *turn) HandleFrame(event string, data []byte) (done bool, err error) {
	if data[0] == '[' {
		return false, t.classifyFailure(data)
	}
	c, err := parseChunk(data)
	if err != nil {
		return false, &llm.Error{Class: llm.Malformed, Message: "the provider sent a frame that is not a Chat chunk: " + wire.FormatExcerpt(data, t.secrets), Err: err}
	}
	if c.isError(event) {
		return false, t.classifyFailure(data)
	}
	err = t.applyChunk(&c)
	return t.IsStopped(), err
}

// IsComplete implements wire.Frames.
func (t *turn) IsComplete() bool { return t.reason != "" }

// isError reports whether the frame tells of a failure instead of carrying a piece of the answer.
func (c *chunk) isError(event string) bool {
	if saysError(c.Error) || string(c.Object) == `"error"` || (event == "error" && len(c.Choices) == 0) {
		return true
	}
	return len(c.Choices) > 0 && saysError(c.Choices[0].Error)
}

// saysError reports whether an error field says anything: some vendors send it empty with every frame.
func saysError(v jsontext.Value) bool {
	empty := []string{"null", "false", `""`, "{}", "[]"}
	return len(v) > 0 && !slices.Contains(empty, string(v))
}

// classifyFailure gives an error object in the stream its class.
func (t *turn) classifyFailure(data []byte) *llm.Error {
	return wire.ClassifyFailure(wire.Failure{Status: http.StatusOK, Body: data, Secrets: t.secrets})
}
