package openaichat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/sse"
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
		t := &turn{d: d, requestID: requestID, secrets: secrets, yield: yield}
		err := t.read(r)
		if err == nil && !t.stopped {
			err = t.end()
		}
		if err != nil && !t.stopped {
			yield(nil, t.charged(err))
		}
	}
}

// read feeds the whole body to t.
func (t *turn) read(r io.Reader) error {
	br := bufio.NewReader(r)
	first, err := firstByte(br)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return t.readError(err)
	case first == '<':
		return malformed("the provider's address answered with a web page instead of a model's answer; check the base URL, or a proxy or login page in between")
	case first == '{' || first == '[':
		return t.document(br)
	}
	for frame, err := range sse.Frames(br, sse.DefaultLimit) {
		if err != nil {
			return t.readError(err)
		}
		done, err := t.frame(frame)
		if err != nil || done || t.stopped {
			return err
		}
	}
	return nil
}

// firstByte skips white space and peeks at what follows.
func firstByte(br *bufio.Reader) (byte, error) {
	for {
		b, err := br.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, br.UnreadByte()
		}
	}
}

// readError gives an error of the reader its class. After the finish marker the answer is complete, and losing the
// connection no longer matters.
func (t *turn) readError(err error) error {
	if limit, ok := errors.AsType[*sse.LimitError](err); ok {
		return malformed("the provider sent a frame of more than %d MiB", limit.Limit>>20)
	}
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		failure = &llm.Error{Class: llm.Transport, Message: "the connection broke while the answer arrived: " + err.Error(), Err: err}
	}
	if t.reason != "" && failure.Retryable() {
		return nil
	}
	return failure
}

// document handles an answer that is not a stream.
func (t *turn) document(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, sse.DefaultLimit+1))
	if err != nil {
		return t.readError(err)
	}
	if len(data) > sse.DefaultLimit {
		return malformed("the provider sent an answer of more than %d MiB in one piece", sse.DefaultLimit>>20)
	}
	_, err = t.frame(sse.Frame{Data: data})
	return err
}

// frame handles one frame. It reports whether the provider said that nothing follows.
func (t *turn) frame(f sse.Frame) (done bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if len(data) == 0 {
		return false, nil
	}
	if string(data) == "[DONE]" {
		return true, nil
	}
	if data[0] == '[' {
		return false, t.failure(data)
	}
	c, err := parseChunk(data)
	if err != nil {
		return false, &llm.Error{Class: llm.Malformed, Message: "the provider sent a frame that is not a Chat chunk: " + t.excerpt(data), Err: err}
	}
	if c.isError(f.Event) {
		return false, t.failure(data)
	}
	return false, t.chunk(&c)
}

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

func malformed(format string, args ...any) *llm.Error {
	return &llm.Error{Class: llm.Malformed, Message: fmt.Sprintf(format, args...)}
}

// failure gives an error object in the stream its class.
func (t *turn) failure(data []byte) *llm.Error {
	return Classify(Failure{Status: statusOK, Body: data, Secrets: t.secrets})
}

// excerpt is enough of b to recognise it.
func (t *turn) excerpt(b []byte) string {
	const limit = 160
	s := shown(b, t.secrets, limit)
	if len(b) > limit {
		s += "…"
	}
	return s
}
