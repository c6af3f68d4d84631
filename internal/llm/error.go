package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Class sorts what can go wrong with a turn by what can be done about it (spec/v2 §20.3).
type Class string

// The classes. Retryable says which may be tried again.
const (
	Auth           Class = "auth"             // 401, 403: the key is missing, wrong or not allowed
	Forbidden      Class = "forbidden"        // 403 that no key mends: the account may not, a clock is wrong, something in between does not let it through
	Quota          Class = "quota"            // the account has no credit left
	RateLimit      Class = "rate-limit"       // 429
	Overloaded     Class = "overloaded"       // 5xx, 529, in-stream server errors
	Transport      Class = "transport"        // DNS, TCP, TLS, reset
	Timeout        Class = "timeout"          // a clock ran out; Phase says which
	Incomplete     Class = "incomplete"       // the stream ended without a finish marker
	Malformed      Class = "malformed"        // frames or JSON that the protocol does not allow
	Empty          Class = "empty"            // a well-formed answer with nothing in it
	Overflow       Class = "context-overflow" // the request does not fit the model's context window
	ContentFilter  Class = "content-filter"   // refused by policy
	InvalidRequest Class = "invalid-request"  // 400, 404, 409, 413, 422: sending it again cannot help
	Aborted        Class = "aborted"          // our own cancellation
	Unknown        Class = "unknown"
)

// Phase names the clock that ran out.
type Phase string

// The phases of a provider turn.
const (
	PhaseConnect   Phase = "connect"
	PhaseFirstByte Phase = "first-byte"
	PhaseSilence   Phase = "silence"
)

// Error is the only error a Model yields. Message is fit for people: no secrets, at most 500 characters of the
// provider's body.
type Error struct {
	Class      Class
	Message    string
	Status     int // HTTP status; 0 if none was received
	Phase      Phase
	Final      bool          // what is wrong will be wrong again, though failures of the class may pass
	RetryAfter time.Duration // what the provider asked for; 0 if it did not
	RequestID  string
	Body       string // the provider's error body with secrets removed, at most 16384 characters
	Named      *Media // what of the request the provider names as the reason, nil if nothing can be told
	Usage      *Usage // what the failed answer used, nil if the provider did not say: it costs all the same
	Err        error
}

// Error returns the message with its class.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (%s, HTTP %d)", e.Message, e.Class, e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Class)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later. Auth, what is forbidden, quota, content filter, overflow and bad
// requests are terminal, and so is what is Final.
func (e *Error) Retryable() bool {
	if e.Final {
		return false
	}
	switch e.Class {
	case RateLimit, Overloaded, Transport, Timeout, Incomplete, Malformed, Empty:
		return true
	case Auth, Forbidden, Quota, Overflow, ContentFilter, InvalidRequest, Aborted, Unknown:
		return false
	default:
		return false
	}
}

// AsError returns err as an *Error: the one it wraps, the cause of a cancelled ctx if that is one, an Aborted error
// when ctx ended, else an Unknown error that wraps it.
func AsError(ctx context.Context, err error) *Error {
	if cause := context.Cause(ctx); cause != nil {
		if e, ok := errors.AsType[*Error](cause); ok {
			return e
		}
		return &Error{Class: Aborted, Message: "the turn was interrupted", Err: cause}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Class: Unknown, Message: err.Error(), Err: err}
}
