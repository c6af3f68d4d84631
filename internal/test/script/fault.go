package script

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"syscall"

	"github.com/cairn-dev/cairn/internal/llm"
)

// playFault ends the turn with f. It always returns an error.
func (p *performance) playFault(ctx context.Context, f Fault) error {
	// Faults before the stream of events opens.
	switch f.Kind {
	case FaultConnectHang:
		return waitForEnd(ctx)
	case FaultHeaderHang:
		p.connect()
		return waitForEnd(ctx)
	case FaultReset:
		p.connect()
		return &llm.Error{
			Class: llm.Transport, Message: cmp.Or(f.Message, "the connection was reset"), Err: syscall.ECONNRESET,
		}
	case FaultStatus:
		p.connect()
		refusal := f.newRefusal()
		if u := llm.Usage(p.turn.Usage); u.Input+u.Output > 0 {
			refusal.Usage = &u
		}
		return refusal
	}
	// Faults of an open stream.
	if err := p.open(ctx); err != nil {
		return err
	}
	switch f.Kind {
	case FaultSilence:
		return waitForEnd(ctx)
	case FaultEnd:
		return &llm.Error{Class: llm.Incomplete, Message: cmp.Or(f.Message, "the stream ended without a finish marker")}
	case FaultMalformed:
		return &llm.Error{
			Class: llm.Malformed, Message: cmp.Or(f.Message, "the provider sent a frame that is not valid JSON"),
		}
	case FaultEmpty:
		return &llm.Error{Class: llm.Empty, Message: cmp.Or(f.Message, "the provider answered with nothing")}
	default:
		return fmt.Errorf("script: fault %q is unknown", clip(string(f.Kind), 40))
	}
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f Fault) newRefusal() *llm.Error {
	class := f.Class
	if class == "" {
		class = classOf(f.Status)
	}
	message := f.Message
	if message == "" {
		message = cmp.Or(http.StatusText(f.Status), "the provider refused")
	}
	return &llm.Error{
		Class: class, Status: f.Status, Message: message, RetryAfter: f.RetryAfter, RequestID: f.RequestID, Body: f.Message,
		ByStatus: f.Class == "", Window: f.Window,
	}
}

// classOf returns the class of a status without regard to a body.
func classOf(status int) llm.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.Auth
	case status == http.StatusPaymentRequired:
		return llm.Quota
	case status == http.StatusTooManyRequests:
		return llm.RateLimit
	case status == http.StatusBadRequest, status == http.StatusNotFound,
		status == http.StatusRequestEntityTooLarge, status == http.StatusUnprocessableEntity:
		return llm.InvalidRequest
	case status >= http.StatusInternalServerError, status == http.StatusConflict:
		return llm.Overloaded
	default:
		return llm.Unknown
	}
}
