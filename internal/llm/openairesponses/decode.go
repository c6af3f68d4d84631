package openairesponses

import (
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// Decode yields the events of a 2xx response body under the contract of llm.Model. requestID is the id in
// ResponseStart. secrets are values that were sent and must not occur in an error. An error carries the usage that was
// reported before it.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{
			Stream: wire.NewStream(requestID, secrets, yield), d: d,
			items: itemTable{ids: map[string]*item{}, at: map[int]*item{}},
		}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return t.usage })
	}
}

// HandleFrame implements wire.FrameHandler.
func (t *turn) HandleFrame(event string, data []byte) (done bool, err error) {
	f, err := parseFrame(data)
	if err != nil {
		return false, t.NewInvalidFrame("Responses event", data, err)
	}
	switch {
	case f.Type == "error", event == "error", f.Type == "" && (wire.IsPresent(f.Error) || wire.IsRefusal(data)):
		return false, t.ClassifyFailure(data)
	case f.Type == "response.failed":
		return false, t.newFailure(f.Response)
	}
	if t.numbers.isRepeated(f.Sequence, data) {
		return false, nil
	}
	if err := t.applyFrame(&f); err != nil {
		return false, err
	}
	return t.IsStopped() || t.status != "", nil
}

// IsComplete implements wire.FrameHandler.
func (t *turn) IsComplete() bool { return t.status != "" }

// parseFrame decodes one event. A complete answer from a server that does not stream becomes the event that ends one.
func parseFrame(data []byte) (frame, error) {
	var f frame
	if data[0] == '[' { // some gateways answer with a list of errors
		return frame{Type: "error"}, nil
	}
	if err := wire.DecodeLenient(data, &f); err != nil {
		return f, err
	}
	if f.Type != "" {
		return f, nil
	}
	var whole response
	if err := wire.DecodeLenient(data, &whole); err != nil {
		return f, err
	}
	if whole.Object == "response" && !wire.IsPresent(whole.Error) {
		f.Type, f.Response, f.Error = "response."+whole.Status, &whole, nil
	}
	return f, nil
}

// newFailure returns the error of an answer that the provider failed to complete.
func (t *turn) newFailure(r *response) *llm.Error {
	if r == nil || !wire.IsPresent(r.Error) {
		return &llm.Error{Class: llm.Overloaded, Message: "the provider ended the answer without a reason"}
	}
	t.parseUsage(r.Usage)
	return t.ClassifyFailure(wire.MarshalOr(map[string]jsontext.Value{"error": r.Error}, nil))
}
