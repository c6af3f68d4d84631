package bedrock

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The maximum size of a frame, and the minimum sizes of its prelude and of a whole frame.
const (
	maxFrame    = 8 << 20
	preludeSize = 12
	frameSize   = preludeSize + 4
)

// Decode yields the events of a 2xx response body under the contract of llm.Model. requestID is the id in
// ResponseStart. secrets are values that were sent and must not occur in an error. An error carries the usage that was
// reported before it.
func (d Dialect) Decode(requestID string, r io.Reader, secrets ...string) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		t := &turn{Turn: wire.NewTurn(requestID, secrets, yield)}
		err := t.read(bufio.NewReader(r))
		if err == nil && !t.IsStopped() {
			err = t.finishTurn()
		}
		if err != nil {
			t.Fail(err, t.usage)
		}
	}
}

// read passes the whole body to t. A body that is not an event stream is a web page or an error in one document.
func (t *turn) read(br *bufio.Reader) error {
	first, err := br.Peek(1)
	if err == nil && first[0] != 0 {
		_, err := wire.ReadBody(br, t)
		return err
	}
	var buf bytes.Buffer
	for !t.IsStopped() {
		m, err := nextFrame(br, &buf)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return t.classifyReadError(err)
		}
		if err := t.applyMessage(&m); err != nil {
			return err
		}
	}
	return nil
}

// nextFrame reads one frame and verifies its checksums. A stream that ends, be it in the middle of a frame, is io.EOF:
// what is missing says whether that matters.
func nextFrame(br *bufio.Reader, buf *bytes.Buffer) (m eventstream.Message, err error) {
	prelude, err := br.Peek(preludeSize)
	if err != nil {
		return m, err
	}
	size, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case size > maxFrame:
		return m, wire.NewOversized("the provider sent a frame of more than %d MiB", maxFrame>>20)
	case size < frameSize || headers > size-frameSize:
		return m, wire.NewMalformed("the provider sent a frame whose lengths contradict each other")
	}
	buf.Reset()
	if n, err := io.CopyN(buf, br, int64(size)); err != nil || n < int64(size) {
		return m, err
	}
	m, err = eventstream.NewDecoder().Decode(bytes.NewReader(buf.Bytes()), nil)
	if err != nil {
		e := wire.NewMalformed("the provider sent a frame that is damaged")
		e.Err = err
		return m, e
	}
	return m, nil
}

// classifyReadError returns an error of the reader as an *llm.Error, or nil after the stop reason if it is retryable.
func (t *turn) classifyReadError(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		e = &llm.Error{Class: llm.Transport, Message: "the connection was lost during the answer: " + err.Error(), Err: err}
	}
	if t.IsComplete() && e.Class != llm.Malformed && e.IsRetryable() {
		return nil
	}
	return e
}

// textHeader returns a text header of a frame.
func textHeader(m *eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}

// applyMessage applies one frame: an event, an exception of the service, or an error of the connection to it.
func (t *turn) applyMessage(m *eventstream.Message) error {
	switch textHeader(m, eventstreamType) {
	case "exception":
		return t.classifyException(textHeader(m, ":exception-type"), m.Payload)
	case "error":
		text := wire.MarshalOr(map[string]string{"message": textHeader(m, ":error-message")}, nil)
		return t.classifyException(textHeader(m, ":error-code"), text)
	case "event":
	default:
		return nil
	}
	var p payload
	if err := wire.DecodeLenient(m.Payload, &p); err != nil {
		return t.NewInvalidFrame("Converse event", m.Payload, err)
	}
	return t.applyEvent(textHeader(m, ":event-type"), &p)
}

const eventstreamType = ":message-type"

// classifyException classifies a failure in the stream by its name.
func (t *turn) classifyException(name string, data jsontext.Value) error {
	if t.IsComplete() {
		return nil
	}
	fields, _ := wire.ReadObject(data)
	if fields == nil {
		fields = wire.Object{"message": wire.Quote(string(data))}
	}
	fields["type"] = wire.Quote(name)
	body := wire.MarshalOr(fields, nil)
	return t.ClassifyFailure(body)
}

// HandleFrame implements wire.FrameHandler for a body that is not an event stream: an error in one document.
func (t *turn) HandleFrame(_ string, data []byte) (done bool, err error) {
	return true, t.ClassifyFailure(data)
}

// IsComplete implements wire.FrameHandler.
func (t *turn) IsComplete() bool { return t.reason != "" }
