package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Stream emits the events of one answer under the contract of llm.Model. It belongs to the goroutine that ranges over
// them.
type Stream struct {
	yield     func(llm.Event, error) bool
	requestID string
	secrets   []string // values that must not occur in an error
	stopped   bool     // the consumer wants no more events
	opened    bool
	texts     int
	thoughts  int
	content   bool   // a text that is not blank, reasoning or a hosted call has been emitted
	end       string // the end of the texts
}

// maxEnd bounds the bytes of the newest text that are kept to see how it ends.
const maxEnd = 4096

// NewStream returns the stream of the answer to the request with that id. secrets are values that were sent and must
// not occur in an error.
func NewStream(requestID string, secrets []string, yield func(llm.Event, error) bool) *Stream {
	return &Stream{yield: yield, requestID: requestID, secrets: secrets}
}

// Emit emits an event.
func (s *Stream) Emit(e llm.Event) {
	if !s.stopped && !s.yield(e, nil) {
		s.stopped = true
	}
}

// IsStopped reports whether the consumer wants no more events.
func (s *Stream) IsStopped() bool { return s.stopped }

// Open emits ResponseStart, once.
func (s *Stream) Open() {
	if !s.opened {
		s.opened = true
		s.Emit(llm.ResponseStart{RequestID: s.requestID})
	}
}

// HasContent reports whether a text that is not blank, reasoning or a hosted call has been emitted.
func (s *Stream) HasContent() bool { return s.content }

// MarkContent records that content other than text and reasoning has been emitted.
func (s *Stream) MarkContent() { s.content = true }

// Read passes the body to f and ends the stream: with end, which receives whether the body marked its own end, or with
// an error, which carries the usage so far.
func (s *Stream) Read(body io.Reader, f FrameHandler, end func(ended bool) error, usage func() llm.Usage) {
	ended, err := ReadBody(body, f)
	if err == nil && !s.stopped {
		err = end(ended)
	}
	if err != nil {
		s.Fail(err, usage())
	}
}

// Fail ends the stream with err and the usage that the provider reported.
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

// ClassifyFailure classifies an error object in the answer.
func (s *Stream) ClassifyFailure(data []byte) *llm.Error {
	return ClassifyFailure(Failure{Status: http.StatusOK, Body: data, Secrets: s.secrets})
}

// NewInvalidFrame returns the error of a frame that is not of the protocol's kind, such as "Chat chunk". It quotes the
// beginning of the frame.
func (s *Stream) NewInvalidFrame(kind string, data []byte, cause error) *llm.Error {
	const limit = 160
	excerpt := RedactText(data, s.secrets, limit)
	if len(data) > limit {
		excerpt += "…"
	}
	e := NewMalformed("the provider sent a frame that is not a %s: %s", kind, excerpt)
	e.Err = cause
	return e
}

// CheckEnded returns the error of an answer that did not begin or did not end.
func (s *Stream) CheckEnded(ended bool) error {
	switch {
	case !s.opened:
		return &llm.Error{Class: llm.Empty, Message: "the provider accepted the request but sent no answer"}
	case !ended:
		return &llm.Error{Class: llm.Incomplete, Message: "the answer ended without a finish marker"}
	}
	return nil
}

// IsWhole reports whether the answer may be accepted without a reason for its marked end: it has content or calls, and
// the arguments of each call are an object.
func (s *Stream) IsWhole(arguments ...string) bool {
	for _, raw := range arguments {
		if _, problem := ParseArguments(raw); problem != "" || raw == "" {
			return false
		}
	}
	return s.content || len(arguments) > 0
}

// writtenCall matches a text that ends with a tool call in the form of a model whose server should have read it.
var writtenCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)(?:^|\n)\s*(?:<tool_call>.*</tool_call>|<function=.*</function>(?:\s*</tool_call>)?|` +
		`<invoke .*</invoke>(?:\s*</\w+>)?|\[TOOL_CALLS\].*[\]}]|<\|tool_calls_section_begin\|>.*|` +
		`<｜tool▁calls▁begin｜>.*|(?:<\|start\|>assistant)?<\|channel\|>\w+ to=functions\..*)\s*$`)
})

// NewMissingCall returns the error of an answer that announced a tool call and has none. It is requested once more.
func NewMissingCall() *llm.Error {
	e := NewMalformed("the provider announced a tool call and sent none")
	e.Once = true
	return e
}

// CheckContent returns the error of an answer without content and without calls; it is refused if a filter is the
// reason. A text that ends with a tool call is no answer either.
func (s *Stream) CheckContent(reason llm.FinishReason, calls bool, refused *llm.Error) error {
	switch {
	case !calls && reason != llm.FinishLength && writtenCall().MatchString(s.end):
		e := NewMalformed("the model wrote a tool call as text, and its server did not read it as a call")
		e.Once = true
		return e
	case s.content, calls, reason == llm.FinishLength:
		return nil
	case reason == llm.FinishContentFilter:
		return refused
	default:
		return &llm.Error{Class: llm.Empty, Message: "the provider sent an answer without text, reasoning or tool calls"}
	}
}

// WindowFull is the stop reason of Claude models when the context window is full.
const WindowFull = "model_context_window_exceeded"

// NewWindowFull returns the error of an answer that was cut off by the context window. Continuing it would overflow the
// window.
func NewWindowFull() *llm.Error {
	return &llm.Error{Class: llm.Overflow, Message: "the answer was cut off because the model's context window is full"}
}

// NewFiltered returns the error of a request that the provider's content filter refused.
func NewFiltered() *llm.Error {
	return &llm.Error{Class: llm.ContentFilter, Message: "the provider's content filter refused the request"}
}

// TextRun is a run of text or of reasoning. The zero value is no run.
type TextRun struct {
	ID        string
	Reasoning bool
	Joiner    Joiner
}

// BeginRun begins a run. Reasoning counts as content at once, text when it is not blank.
func (s *Stream) BeginRun(reasoning bool) TextRun {
	if reasoning {
		s.content = true
		r := TextRun{ID: fmt.Sprintf("reasoning-%d", s.thoughts), Reasoning: true}
		s.thoughts++
		s.Emit(llm.ReasoningStart{ID: r.ID})
		return r
	}
	r := TextRun{ID: fmt.Sprintf("text-%d", s.texts)}
	s.texts++
	s.Emit(llm.TextStart{ID: r.ID})
	return r
}

// AppendText appends to a run.
func (s *Stream) AppendText(r *TextRun, piece string) {
	switch {
	case piece == "":
	case r.Reasoning:
		s.Emit(llm.ReasoningDelta{ID: r.ID, Delta: piece})
	default:
		s.content = s.content || strings.TrimSpace(piece) != ""
		s.end += piece
		if len(s.end) > 2*maxEnd {
			s.end = strings.Clone(s.end[len(s.end)-maxEnd:])
		}
		s.Emit(llm.TextDelta{ID: r.ID, Delta: piece})
	}
}

// FlushText appends the incomplete character that a run still holds.
func (s *Stream) FlushText(r *TextRun) { s.AppendText(r, r.Joiner.Flush()) }

// EndRun ends a run. The caller has flushed it.
func (s *Stream) EndRun(r *TextRun, meta llm.Metadata) {
	if r.Reasoning {
		s.Emit(llm.ReasoningEnd{ID: r.ID, Metadata: meta})
		return
	}
	s.Emit(llm.TextEnd{ID: r.ID, Metadata: meta})
}
