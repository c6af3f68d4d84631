package gemini

import (
	"io"
	"iter"
	"net/http"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Decode yields the events of a 2xx response body, following llm.Model's contract for streams. The requestID is what
// Opened says, which comes with the first frame. Errors of r that are *llm.Errors are yielded as they are, others as
// class Transport; what the provider reported as used until then goes with them. The secrets are values that were sent
// and must not come back in an error. How a body is told apart is wire.ReadBody's to say; a JSON list is the frames of
// an answer that was not asked for as a stream of events.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Stream: wire.NewStream(requestID, yield), d: d, requestID: requestID, secrets: secrets}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return t.usage })
	}
}

// HandleFrame implements wire.Frames.
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
		return false, &llm.Error{Class: llm.Malformed, Message: "the provider sent a frame that is not of a Gemini stream: " + wire.FormatExcerpt(data, t.secrets), Err: err}
	}
	if wire.IsPresent(f.Error) || event == "error" {
		return false, wire.ClassifyFailure(wire.Failure{Status: http.StatusOK, Body: data, Secrets: t.secrets})
	}
	err = t.applyFrame(&f)
	return t.IsStopped(), err
}

// IsComplete implements wire.Frames.
func (t *turn) IsComplete() bool { return t.finish != "" }
