package turnlog

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// DescribeFailure returns the failure that a session records for err, with a text that every reader of the session may see:
// that of the provider's errors and of session errors. Other errors get a general text; the drain logs them.
func DescribeFailure(err error) *session.Failure {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		f := session.Fail(reasonOfClass(e.Class), failureText(e))
		f.Provider = &session.Said{Message: e.Message, Status: e.Status, Body: e.Body, IsTransient: e.IsRetryable()}
		return f
	}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code != session.CodeInternal {
		return session.Fail(session.ReasonUnavailable, e.Error())
	}
	if e, ok := errors.AsType[*TooLongError](err); ok {
		return session.Fail(session.ReasonLength, e.Error())
	}
	switch {
	case errors.Is(err, store.ErrDamaged):
		return session.Fail(session.ReasonStore, "stored data of this session is damaged; run cairn doctor")
	case errors.Is(err, store.ErrUnavailable):
		return session.Fail(session.ReasonStore, "the data could not be read or written; run cairn doctor to see why")
	default:
		return session.Fail(session.ReasonInternal, "internal error in cairn; the log has the details")
	}
}

// failureText returns the provider's text, with the time after which it accepts another request.
func failureText(e *llm.Error) string {
	if e.RetryAfter < time.Second {
		return e.Error()
	}
	wait := e.RetryAfter.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(wait, zero); ok {
			wait = rest + zero[:1]
		}
	}
	return fmt.Sprintf("%s; it asks to wait %s", e.Error(), wait)
}

func reasonOfClass(c llm.Class) session.Reason {
	switch c {
	case llm.Auth:
		return session.ReasonAuth
	case llm.Quota:
		return session.ReasonQuota
	case llm.Overflow:
		return session.ReasonOverflow
	case llm.ContentFilter:
		return session.ReasonContentFilter
	default:
		return session.ReasonAPI
	}
}

// DescribeCancellation returns the failure of a turn that was cancelled for the cause.
func DescribeCancellation(stopped error) *session.Failure {
	if errors.Is(stopped, ErrShutdown) {
		return session.Fail(session.ReasonInterrupted, "cairn stopped while the model was answering")
	}
	if errors.Is(stopped, ErrDeleted) {
		return session.Fail(session.ReasonAborted, session.DeletedMessage)
	}
	return session.Fail(session.ReasonAborted, "Provider turn interrupted")
}
