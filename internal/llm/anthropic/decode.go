package anthropic

import (
	"io"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// frame is one event of the stream, or a complete answer (type message) from a server that does not stream.
type frame struct {
	Type         string           `json:"type"`
	Index        int              `json:"index"`
	Message      messageStart     `json:"message"`
	ContentBlock jsontext.Value   `json:"content_block"`
	Delta        jsontext.Value   `json:"delta"`
	Usage        jsontext.Value   `json:"usage"`
	Error        jsontext.Value   `json:"error"`
	ID           jsontext.Value   `json:"id"`
	Content      []jsontext.Value `json:"content"`
	StopReason   jsontext.Value   `json:"stop_reason"`
}

type messageStart struct {
	ID    jsontext.Value `json:"id"`
	Usage jsontext.Value `json:"usage"`
}

// contentPiece is a content block at its start, or a continuation of one.
type contentPiece struct {
	Type        string         `json:"type"`
	ID          jsontext.Value `json:"id"`
	Name        jsontext.Value `json:"name"`
	ServerName  jsontext.Value `json:"server_name"`
	Caller      jsontext.Value `json:"caller"` // the hosted tool that made the call
	Input       jsontext.Value `json:"input"`
	Text        jsontext.Value `json:"text"`
	Thinking    jsontext.Value `json:"thinking"`
	Signature   jsontext.Value `json:"signature"`
	Data        jsontext.Value `json:"data"`
	Citations   jsontext.Value `json:"citations"`
	Citation    jsontext.Value `json:"citation"`
	PartialJSON jsontext.Value `json:"partial_json"`
	ToolUseID   jsontext.Value `json:"tool_use_id"`
	Content     jsontext.Value `json:"content"`
	IsError     jsontext.Value `json:"is_error"`
	StopReason  jsontext.Value `json:"stop_reason"`
}

// Decode yields the events of a 2xx response body under the contract of llm.Model. requestID is the id in
// ResponseStart. secrets are values that were sent and must not occur in an error. An error carries the usage that was
// reported before it.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Turn: wire.NewTurn(requestID, secrets, yield), hosted: map[string]*hostedCall{}}
		t.Read(r, t, t.finishTurn, func() llm.Usage { return parseUsage(t.usage) })
	}
}

// IsComplete implements wire.FrameHandler.
func (t *turn) IsComplete() bool { return t.reason != "" }

// HandleFrame implements wire.FrameHandler.
func (t *turn) HandleFrame(event string, data []byte) (done bool, err error) {
	var f frame
	if err := wire.DecodeLenient(data, &f); err != nil {
		return false, t.NewInvalidFrame("Messages event", data, err)
	}
	switch {
	case f.Type == "message_stop":
		t.stopped = true
		return true, nil
	case t.IsComplete(): // later frames are not part of the answer
		return false, nil
	case f.Type == "error" || event == "error" || f.Type == "" && (wire.IsPresent(f.Error) || wire.IsRefusal(data)):
		return false, t.ClassifyFailure(data)
	case f.Type == "message":
		return true, t.decodeMessage(&f)
	}
	return t.IsStopped(), t.applyFrame(&f)
}

func (t *turn) applyFrame(f *frame) error {
	switch f.Type {
	case "message_start":
		t.BeginAnswer(wire.DecodeString(f.Message.ID))
		t.updateUsage(f.Message.Usage)
	case "content_block_start":
		return t.startBlock(f.Index, f.ContentBlock)
	case "content_block_delta":
		return t.continueBlock(f.Index, f.Delta)
	case "content_block_stop":
		t.StopBlock(f.Index)
	case "message_delta":
		t.BeginAnswer("")
		t.updateUsage(f.Usage)
		if p, ok := parsePiece(f.Delta); ok {
			t.reason = wire.DecodeString(p.StopReason)
		}
	}
	return nil
}

// decodeMessage decodes an answer that is not a stream.
func (t *turn) decodeMessage(f *frame) error {
	t.BeginAnswer(wire.DecodeString(f.ID))
	for i, b := range f.Content {
		if err := t.startBlock(i, b); err != nil {
			return err
		}
		t.StopBlock(i)
	}
	t.updateUsage(f.Usage)
	t.reason = wire.DecodeString(f.StopReason)
	return nil
}

func parsePiece(v jsontext.Value) (contentPiece, bool) {
	var p contentPiece
	return p, v.Kind() == '{' && wire.DecodeLenient(v, &p) == nil
}
