package engine

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// told is the failure that a session records for err, in words that may be read by anybody: those of the provider's
// errors and of our own. What other errors say stays inside; the drain logs them.
func told(err error) *session.Failure {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		f := session.Fail(reasonOfClass(e.Class), worded(e))
		f.Said = &session.Said{Message: e.Message, Status: e.Status, Body: e.Body, Passes: e.IsRetryable()}
		return f
	}
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code != session.CodeInternal {
		return session.Fail(session.ReasonUnavailable, e.Error())
	}
	if e, ok := errors.AsType[*record.TooLongError](err); ok {
		return session.Fail(session.ReasonLength, e.Error())
	}
	switch {
	case errors.Is(err, store.ErrDamaged):
		return session.Fail(session.ReasonStore, "stored data of this session is damaged; run cairn doctor")
	case errors.Is(err, store.ErrUnavailable):
		return session.Fail(session.ReasonStore, "the data could not be read or written; run cairn doctor to see why")
	default:
		return session.Fail(session.ReasonInternal, "cairn failed (a fault of ours, it is logged)")
	}
}

// worded is what the provider said, with when it wants to be asked again: a person has to wait that long.
func worded(e *llm.Error) string {
	if e.RetryAfter < time.Second {
		return e.Error()
	}
	wait := e.RetryAfter.Round(time.Second).String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if whole, ok := strings.CutSuffix(wait, nothing); ok {
			wait = whole + nothing[:1]
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
