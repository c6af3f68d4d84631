package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Stream gives out the events of one answer, by llm's contract for streams. It belongs to the goroutine that ranges over
// them.
type Stream struct {
	yield     func(llm.Event, error) bool
	requestID string
	stopped   bool // the consumer wants no more
	opened    bool
	texts     int
	thoughts  int
	content   bool // some text that says something, thought or hosted call has been given out
}

// NewStream returns the stream of an answer to the request of that id.
func NewStream(requestID string, yield func(llm.Event, error) bool) *Stream {
	return &Stream{yield: yield, requestID: requestID}
}

// Emit gives an event out.
func (s *Stream) Emit(e llm.Event) {
	if !s.stopped && !s.yield(e, nil) {
		s.stopped = true
	}
}

// Stopped reports whether the consumer wants no more.
func (s *Stream) Stopped() bool { return s.stopped }

// Open says that the answer has begun, once.
func (s *Stream) Open() {
	if !s.opened {
		s.opened = true
		s.Emit(llm.ResponseStart{RequestID: s.requestID})
	}
}

// Said reports whether some text, thought or hosted call has been given out.
func (s *Stream) Said() bool { return s.content }

// Tell notes that something has been given out that is no text and no thought.
func (s *Stream) Tell() { s.content = true }

// Read feeds the body to f and ends the stream: well by end, which is told whether the body says of itself that it is
// whole, or with an error, which bears what used says has been used by then.
func (s *Stream) Read(body io.Reader, f Frames, end func(whole bool) error, used func() llm.Usage) {
	whole, err := ReadBody(body, f)
	if err == nil && !s.stopped {
		err = end(whole)
	}
	if err != nil {
		s.Fail(err, used())
	}
}

// Fail ends the stream with err, with what the provider reported as used.
func (s *Stream) Fail(err error, used llm.Usage) {
	if s.stopped {
		return
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && used.Raw != nil {
		with := *e
		with.Usage = &used
		err = &with
	}
	s.yield(nil, err)
}

// Whole returns the error of an answer that did not begin, or did not end.
func (s *Stream) Whole(ended bool) error {
	switch {
	case !s.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request and sent no answer"}
	case !ended:
		return &llm.Error{Class: llm.Incomplete, Message: "the answer stopped before the provider said that it was complete"}
	}
	return nil
}

// Usable returns the error of an answer that says nothing, and calls nothing: refused is it if a filter is why.
func (s *Stream) Usable(reason llm.FinishReason, calls bool, refused *llm.Error) error {
	switch {
	case s.content, calls, reason == llm.FinishLength:
		return nil
	case reason == llm.FinishContentFilter:
		return refused
	default:
		return &llm.Error{Class: llm.Empty, Message: "the provider sent an answer with no text, no reasoning and no tool call"}
	}
}

// WindowFull is the reason with which Claude's answers end for which the window has no more room.
const WindowFull = "model_context_window_exceeded"

// Full is the error of an answer for whose rest the model's context window has no room. To ask for the rest would overflow
// it.
func Full() *llm.Error {
	return &llm.Error{Class: llm.Overflow, Message: "the answer broke off because the model's context window is full"}
}

// Filtered is the error of a request that the provider's filter refused.
func Filtered() *llm.Error {
	return &llm.Error{Class: llm.ContentFilter, Message: "the provider's content filter refused the request"}
}

// Run is a run of text, or of thoughts. The zero value is none.
type Run struct {
	ID      string
	Thought bool
	Joiner  Joiner
}

// Begin begins a run. A thought counts as such; text, once it says something.
func (s *Stream) Begin(thought bool) Run {
	if thought {
		s.content = true
		r := Run{ID: fmt.Sprintf("reasoning-%d", s.thoughts), Thought: true}
		s.thoughts++
		s.Emit(llm.ReasoningStart{ID: r.ID})
		return r
	}
	r := Run{ID: fmt.Sprintf("text-%d", s.texts)}
	s.texts++
	s.Emit(llm.TextStart{ID: r.ID})
	return r
}

// Say continues a run.
func (s *Stream) Say(r *Run, piece string) {
	switch {
	case piece == "":
	case r.Thought:
		s.Emit(llm.ReasoningDelta{ID: r.ID, Delta: piece})
	default:
		s.content = s.content || strings.TrimSpace(piece) != ""
		s.Emit(llm.TextDelta{ID: r.ID, Delta: piece})
	}
}

// Rest says what of a run was held back.
func (s *Stream) Rest(r *Run) { s.Say(r, r.Joiner.End()) }

// End ends a run whose rest has been said.
func (s *Stream) End(r *Run, meta llm.Metadata) {
	if r.Thought {
		s.Emit(llm.ReasoningEnd{ID: r.ID, Metadata: meta})
		return
	}
	s.Emit(llm.TextEnd{ID: r.ID, Metadata: meta})
}
