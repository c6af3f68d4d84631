package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/sse"
)

// A Frames takes the frames of one answer in order.
type Frames interface {
	// Frame takes one frame, its data trimmed and neither empty nor [DONE]. It reports whether nothing follows that
	// matters.
	Frame(event string, data []byte) (done bool, err error)
	// Complete reports whether the finish marker has been seen: losing the connection no longer matters.
	Complete() bool
}

// ReadBody feeds a whole 2xx body to f, and reports whether it says of itself that it is whole: by being one JSON
// document, which is one frame, or by [DONE]. Whatever the content type says, the body decides: a web page is Malformed,
// no body at all gives no frame. The last frame of a stream that ends without its blank line counts if it is whole JSON.
// Errors of r that are *llm.Errors are returned as they are, others as class Transport;
// after the finish marker those that could be tried again are no errors.
func ReadBody(r io.Reader, f Frames) (whole bool, err error) {
	br := bufio.NewReader(r)
	first, err := firstByte(br)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, readError(err, f)
	case first == '<':
		return false, Malformed("the provider's address answered with a web page instead of a model's answer; check the base URL, or a proxy or login page in between")
	case first == '{' || first == '[':
		return true, document(br, f)
	}
	for frame, err := range sse.ToEnd(br, sse.DefaultLimit) {
		if err != nil {
			return false, readError(err, f)
		}
		data := bytes.TrimSpace(frame.Data)
		if string(data) == "[DONE]" {
			return true, nil
		}
		if frame.Unended && !jsontext.Value(data).IsValid(Foreign) {
			return false, nil
		}
		if done, err := give(frame.Event, data, f); err != nil || done {
			return false, err
		}
	}
	return false, nil
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

// readError gives an error of the reader its class.
func readError(err error, f Frames) error {
	if limit, ok := errors.AsType[*sse.LimitError](err); ok {
		return Oversized("the provider sent a frame of more than %d MiB", limit.Limit>>20)
	}
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		failure = &llm.Error{Class: llm.Transport, Message: "the connection broke while the answer arrived: " + err.Error(), Err: err}
	}
	if f.Complete() && (failure.IsRetryable() || failure.Permanent) {
		return nil
	}
	return failure
}

// document handles an answer that is not a stream.
func document(r io.Reader, f Frames) error {
	data, err := io.ReadAll(io.LimitReader(r, sse.DefaultLimit+1))
	if err != nil {
		return readError(err, f)
	}
	if len(data) > sse.DefaultLimit {
		return Oversized("the provider sent an answer of more than %d MiB in one piece", sse.DefaultLimit>>20)
	}
	_, err = give("", bytes.TrimSpace(data), f)
	return err
}

func give(event string, data []byte, f Frames) (done bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	return f.Frame(event, data)
}

// Excerpt is enough of a frame to recognise it, without secrets.
func Excerpt(data []byte, secrets []string) string {
	const limit = 160
	s := Shown(data, secrets, limit)
	if len(data) > limit {
		s += "…"
	}
	return s
}
