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

// FrameHandler handles the frames of one answer in order.
type FrameHandler interface {
	// HandleFrame handles one frame. Its data is trimmed and neither empty nor [DONE]. done reports that the rest of the
	// answer does not matter.
	HandleFrame(event string, data []byte) (done bool, err error)
	// IsComplete reports whether the finish marker has been received. From then on a lost connection does not matter.
	IsComplete() bool
}

// ReadBody passes a whole 2xx body to f. ended reports whether the body itself marks its end: by being one JSON
// document, which is one frame, or by [DONE].
//
// The body's first byte decides its form, whatever the content type is. A web page is Malformed; an empty body has no
// frames. The last frame of a stream that ends without a blank line counts if it is valid JSON. Errors of r that are
// *llm.Error are returned unchanged, others as class Transport. After the finish marker, retryable errors are ignored.
func ReadBody(r io.Reader, f FrameHandler) (ended bool, err error) {
	// The first byte tells a stream from a document and a web page.
	br := bufio.NewReader(r)
	first, err := peekFirstByte(br)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, classifyReadError(err, f)
	case first == '<':
		return false, NewMalformed(
			"the provider's address returned a web page instead of an answer; check options.baseURL and any proxy or login page",
		)
	case first == '{' || first == '[':
		return true, readDocument(br, f)
	}
	// A stream: pass on each frame. After [DONE] only trailers count, and errors no longer do.
	trailers, _ := f.(TrailerHandler)
	for frame, err := range sse.ReadFramesToEnd(br, sse.DefaultLimit) {
		if err != nil && ended {
			return true, nil
		}
		if err != nil {
			return false, classifyReadError(err, f)
		}
		data := bytes.TrimSpace(frame.Data)
		// After [DONE]: to the trailers, until they want no more.
		switch {
		case ended && !trailers.HandleTrailer(data):
			return true, nil
		case ended:
			continue
		// [DONE] itself. Without a handler of trailers the rest is not read; with one, it must come soon.
		case string(data) == "[DONE]":
			if trailers == nil || !trailers.HandleTrailer(nil) {
				return true, nil
			}
			if h, ok := r.(restLimiter); ok {
				h.LimitRest()
			}
			ended = true
			continue
		}
		// The last frame may have been cut off in the middle: then it is not an answer's end.
		if frame.Unended && !jsontext.Value(data).IsValid(Foreign) {
			return false, nil
		}
		if done, err := dispatchFrame(frame.Event, data, f); err != nil || done {
			return false, err
		}
	}
	return ended, nil
}

// TrailerHandler is a FrameHandler that wants to see what follows [DONE].
type TrailerHandler interface {
	// HandleTrailer handles a frame after [DONE], nil before the first one. It reports whether it wants more.
	HandleTrailer(data []byte) (more bool)
}

// restLimiter is a reader whose source may stay open after the end: LimitRest bounds how long the rest may take.
type restLimiter interface{ LimitRest() }

// peekFirstByte skips white space and returns the next byte without consuming it.
func peekFirstByte(br *bufio.Reader) (byte, error) {
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

// classifyReadError returns an error of the reader as an *llm.Error, or nil after the finish marker if it is retryable.
func classifyReadError(err error, f FrameHandler) error {
	if limit, ok := errors.AsType[*sse.LimitError](err); ok {
		return NewOversized("the provider sent a frame of more than %d MiB", limit.Limit>>20)
	}
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		failure = &llm.Error{
			Class: llm.Transport, Message: "the connection was lost during the answer: " + err.Error(), Err: err,
		}
	}
	if f.IsComplete() && (failure.IsRetryable() || failure.Permanent) {
		return nil
	}
	return failure
}

// readDocument handles an answer that is one JSON document instead of a stream.
func readDocument(r io.Reader, f FrameHandler) error {
	data, err := io.ReadAll(io.LimitReader(r, sse.DefaultLimit+1))
	if err != nil {
		return classifyReadError(err, f)
	}
	if len(data) > sse.DefaultLimit {
		return NewOversized("the provider sent an answer of more than %d MiB in one piece", sse.DefaultLimit>>20)
	}
	_, err = dispatchFrame("", bytes.TrimSpace(data), f)
	return err
}

func dispatchFrame(event string, data []byte, f FrameHandler) (done bool, err error) {
	if len(data) == 0 {
		return false, nil
	}
	return f.HandleFrame(event, data)
}
