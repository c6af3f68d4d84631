package openaichat

import (
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Decode yields the events of a 2xx response body under the contract of llm.Model. requestID is the id in
// ResponseStart. secrets are values that were sent and must not occur in an error. An error carries the usage that was
// reported before it.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Stream: wire.NewStream(requestID, secrets, yield), d: d}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return t.usage })
	}
}

// HandleFrame implements wire.FrameHandler.
func (t *turn) HandleFrame(event string, data []byte) (done bool, err error) {
	if data[0] == '[' {
		return false, t.ClassifyFailure(data)
	}
	c, err := parseChunk(data)
	if err != nil {
		return false, t.NewInvalidFrame("Chat chunk", data, err)
	}
	if c.isError(event) || len(c.Choices) == 0 && !wire.IsPresent(c.Usage) && wire.IsRefusal(data) {
		return false, t.ClassifyFailure(data)
	}
	err = t.applyChunk(&c)
	return t.IsStopped(), err
}

// HandleTrailer implements wire.TrailerHandler: some servers report the usage after the end.
func (t *turn) HandleTrailer(data []byte) (more bool) {
	if c, err := parseChunk(data); err == nil && data != nil {
		t.updateUsage(&c)
	}
	return t.usage.Raw == nil
}

// IsComplete implements wire.FrameHandler.
func (t *turn) IsComplete() bool { return t.reason != "" }

// isError reports whether the frame is a failure instead of a piece of the answer.
func (c *chunk) isError(event string) bool {
	if hasError(c.Error) || string(c.Object) == `"error"` || (event == "error" && len(c.Choices) == 0) {
		return true
	}
	return len(c.Choices) > 0 && hasError(c.Choices[0].Error)
}

// hasError reports whether an error field is not empty: some vendors send an empty one with every frame.
func hasError(v jsontext.Value) bool {
	empty := []string{"null", "false", `""`, "{}", "[]"}
	return len(v) > 0 && !slices.Contains(empty, string(v))
}
