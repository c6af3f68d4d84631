package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Class sorts the failures of a turn by what can be done about them.
type Class string

// The classes. IsRetryable reports which of them may be retried.
const (
	Auth           Class = "auth"             // 401, 403: the key is missing, invalid or lacks permission
	Forbidden      Class = "forbidden"        // 403 that a new key cannot fix: account, clock or proxy
	Quota          Class = "quota"            // the account has no credit
	RateLimit      Class = "rate-limit"       // 429
	Overloaded     Class = "overloaded"       // 5xx, 529, 409, in-stream server errors
	Transport      Class = "transport"        // DNS, TCP, TLS, reset
	Timeout        Class = "timeout"          // a clock expired; see Error.Phase
	Incomplete     Class = "incomplete"       // the stream ended without a finish marker
	Malformed      Class = "malformed"        // frames or JSON that the protocol does not allow
	Empty          Class = "empty"            // a well-formed answer with nothing in it
	Overflow       Class = "context-overflow" // the request does not fit the model's context window
	ContentFilter  Class = "content-filter"   // refused by policy
	InvalidRequest Class = "invalid-request"  // 400, 404, 413, 422: a retry cannot help
	Aborted        Class = "aborted"          // the caller cancelled the turn
	Unknown        Class = "unknown"
)

// Phase names the clock that expired.
type Phase string

// The phases of a provider turn.
const (
	PhaseConnect   Phase = "connect"
	PhaseFirstByte Phase = "first-byte"
	PhaseSilence   Phase = "silence"
	PhaseTurn      Phase = "turn"
)

// Error is the only error that a Model yields. Message is fit for people: it has no secrets and at most 500 characters
// of the provider's body.
type Error struct {
	Class      Class
	Message    string
	Status     int // HTTP status; 0 if none was received
	Phase      Phase
	Permanent  bool          // a retry will fail again, even if failures of this class may be transient
	Once       bool          // one retry may succeed; a second failure of the kind is final
	Cured      bool          // the model's next request leaves out the reason of the refusal: a retry at once may succeed
	RetryAfter time.Duration // as requested by the provider; 0 if it is not
	// ByStatus reports that the status alone decided the class: codes and words of the body are unknown.
	ByStatus bool
	// Window is the context window in tokens that a text of class Overflow names beside a larger request; 0 if it names
	// none.
	Window        int64
	Requested     int64 // the tokens of the request that the text names beside Window; 0 if it names none
	RequestID     string
	Body          string // the provider's error body with secrets removed, at most 16384 characters
	RejectedMedia *Media // the media of the request that the provider names as the reason; nil if unknown
	Usage         *Usage // the tokens of the failed answer, which are billed too; nil if the provider does not report them
	Err           error
}

// Error returns the message with its class, if it is known.
func (e *Error) Error() string {
	var notes []string
	if e.Class != Unknown {
		notes = append(notes, string(e.Class))
	}
	if e.Status != 0 {
		notes = append(notes, fmt.Sprintf("HTTP %d", e.Status))
	}
	if len(notes) == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, strings.Join(notes, ", "))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsRetryable reports whether the same request may succeed later. Permanent errors are terminal, as are authentication,
// permission, quota, content filter, context overflow and invalid requests.
func (e *Error) IsRetryable() bool {
	if e.Permanent {
		return false
	}
	if e.Cured {
		return true
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

// AsError returns err as an *Error: the cause of a cancelled ctx if that is one; else an Aborted error if ctx has
// ended; else the *Error that err wraps; else an Unknown error that wraps err.
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
