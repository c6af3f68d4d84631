package turnlog

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// WorkCount counts, from the stored events of a session, the steps and failed attempts of its newest work. The zero
// value is a session without events.
type WorkCount struct {
	Steps int // since the newest input

	state  RetryState
	next   int64 // when the next attempt is made, in milliseconds; 0 is at once
	failed bool  // the work ended with a failure that is not retried
}

// Open returns the failed attempts of work that has not ended, and when the next attempt is made, in milliseconds; zero
// values if the work ended with a failure.
func (p *WorkCount) Open() (state RetryState, next int64) {
	if p.failed {
		return RetryState{}, 0
	}
	return p.state, p.next
}

// AddEvent counts the next event. isNew reports that it follows the newest input. A completed step and another model
// end the count of attempts. A prompt ends it only if the work failed before: a prompt that steers open work changes
// neither the attempts nor the wait. Attempts at summaries do not count.
func (p *WorkCount) AddEvent(d session.EventData, isNew bool) {
	switch fact := d.(type) {
	case *session.StepEnded:
		if isNew {
			p.Steps++
		}
		p.state, p.next = RetryState{}, 0
	case *session.ModelSwitched:
		p.state, p.next = RetryState{}, 0
	case *session.StepFailed:
		p.failed = fact.Error.Reason != session.ReasonInterrupted
	case *session.Interrupted:
		p.failed = true
	case *session.Retried:
		if fact.IsOfSummary() {
			return
		}
		p.failed = false
		if fact.Error.Metadata["cause"] == "" && fact.Exclude == nil {
			p.state.countFailure(hasClass(fact.Error, llm.Empty) || hasClass(fact.Error, llm.Malformed))
			p.next = fact.Next
		}
	case *session.Prompted:
		p.state, p.next = p.Open()
		p.failed = false
	}
}

// NewRetryError returns the failure of an attempt as it is stored.
func NewRetryError(e *llm.Error) session.RetryError {
	return session.RetryError{
		Message: e.Error(), Class: string(e.Class), StatusCode: e.Status, IsRetryable: true, ResponseBody: e.Body,
	}
}

// hasClass reports whether the attempt failed with an error of the class. Events from before RetryError.Class have it
// as the end of their text only.
func hasClass(e session.RetryError, c llm.Class) bool {
	if e.Class != "" {
		return e.Class == string(c)
	}
	return strings.HasSuffix(e.Message, (&llm.Error{Class: c, Status: e.StatusCode}).Error())
}
