package gemini

import (
	"io"
	"iter"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Decode yields the events of a 2xx response body under the contract of llm.Model. requestID is the id in
// ResponseStart. secrets are values that were sent and must not occur in an error. An error carries the usage that was
// reported before it. A JSON list is the frames of an answer that was not requested as an event stream.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Stream: wire.NewStream(requestID, secrets, yield), d: d, requestID: requestID}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return t.usage })
	}
}

// HandleFrame implements wire.FrameHandler.
func (t *turn) HandleFrame(event string, data []byte) (done bool, err error) {
	if list, ok := wire.ReadList(data); ok {
		for _, v := range list {
			if done, err := t.HandleFrame(event, v); done || err != nil {
				return done, err
			}
		}
		return t.IsStopped(), nil
	}
	var f frame
	err = wire.DecodeLenient(data, &f)
	if err == nil && f.Candidates == nil {
		err = wire.CheckList(data, "candidates")
	}
	if err != nil {
		return false, t.NewInvalidFrame("Gemini response", data, err)
	}
	isEmpty := len(f.Candidates) == 0 && !wire.IsPresent(f.Usage)
	if wire.IsPresent(f.Error) || event == "error" || isEmpty && wire.IsRefusal(data) {
		return false, t.ClassifyFailure(data)
	}
	err = t.applyFrame(&f)
	return t.IsStopped(), err
}

// IsComplete implements wire.FrameHandler.
func (t *turn) IsComplete() bool { return t.finish != "" }
