package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/session"
)

// Every error that the engine can tell comes back to the caller of the client as it was.
func TestErrorsSurviveTheWire(t *testing.T) {
	kind := func(e *session.Error, k, id string) *session.Error {
		e.Kind, e.ID = k, id
		return e
	}
	for _, c := range []struct {
		err    *session.Error
		status int
		tag    string
	}{
		{session.NotFound("session", "ses_1"), 404, "SessionNotFoundError"},
		{session.NotFound("message", "msg_1"), 404, "MessageNotFoundError"},
		{session.NotFound("permission", "per_1"), 404, "PermissionNotFoundError"},
		{session.NotFound("question", "que_1"), 404, "QuestionNotFoundError"},
		{session.NotFound("provider", "x", "openai"), 404, "ProviderNotFoundError"},
		{session.NotFound("agent", "x", "build", "plan").At("agent"), 400, "InvalidRequestError"},
		{session.NotFound("model", "x/y", "x/z"), 400, "InvalidRequestError"},
		{session.NotFound("variant", "x", "high"), 400, "InvalidRequestError"},
		{session.NotFound("prompt", "msg_1"), 404, "PromptNotFoundError"},
		{session.NotFound("approval", "psv_1"), 404, "NotFoundError"},
		{session.Errorf(session.CodeInvalid, "no").At("prompt.text"), 400, "InvalidRequestError"},
		{kind(session.Errorf(session.CodeInvalid, "no").At("cursor"), KindCursor, ""), 400, "InvalidCursorError"},
		{kind(session.Errorf(session.CodeInvalid, "no"), KindMethod, ""), 405, "MethodNotAllowedError"},
		{kind(session.Errorf(session.CodeInvalid, "no"), KindMedia, ""), 415, "UnsupportedMediaTypeError"},
		{session.Conflict("message", "msg_1", "was used"), 409, "ConflictError"},
		{session.Errorf(session.CodeConflict, "busy"), 409, "ConflictError"},
		{kind(session.Errorf(session.CodeConflict, "ahead"), KindCursor, "17"), 409, "ConflictError"},
		{session.Errorf(session.CodeTooLarge, "the limit is 7"), 413, "RequestTooLargeError"},
		{session.Errorf(session.CodeTooMany, "64 wait"), 429, "TooManyRequestsError"},
		{kind(session.Errorf(session.CodeDenied, "who"), KindAuth, ""), 401, "UnauthorizedError"},
		{session.Errorf(session.CodeDenied, "no"), 403, "ForbiddenError"},
		{session.Errorf(session.CodeUnavailable, "later"), 503, "ServiceUnavailableError"},
		{session.Errorf(session.CodeInternal, "ours"), 500, "UnknownError"},
	} {
		t.Run(c.tag, func(t *testing.T) {
			status, body := EncodeError(c.err, ErrorContext{SessionID: "ses_9", Part: "body"})
			if status != c.status || !strings.Contains(string(body), `"_tag":"`+c.tag+`"`) {
				t.Errorf("got %d %s", status, body)
			}
			got, ok := errors.AsType[*session.Error](DecodeError(status, body))
			if !ok {
				t.Fatalf("decoded %v", DecodeError(status, body))
			}
			if d := cmp.Diff(c.err, got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-sent +received:\n%s", d)
			}
			if got.Error() != c.err.Error() {
				t.Errorf("says %q, said %q", got, c.err)
			}
		})
	}
}

func TestForeignAnswersAreTransportErrors(t *testing.T) {
	for _, body := range []string{
		"", "<html>", `{}`, `{"_tag":"SomethingElse","message":"x"}`, `{"_tag":7}`, `null`, `[]`,
		"\xff",
	} {
		if _, ok := errors.AsType[*TransportError](DecodeError(http.StatusBadGateway, []byte(body))); !ok {
			t.Errorf("%q became %v", body, DecodeError(http.StatusBadGateway, []byte(body)))
		}
	}
}

func TestTheRefOfAnInternalErrorIsKept(t *testing.T) {
	status, body := EncodeError(session.Errorf(session.CodeInternal, "x"), ErrorContext{Ref: "err_00c0ffee"})
	e, ok := errors.AsType[*session.Error](DecodeError(status, body))
	if !ok || e.ID != "err_00c0ffee" {
		t.Errorf("got %+v", e)
	}
}

func FuzzDecodeError(f *testing.F) {
	for _, s := range []string{
		`{"_tag":"SessionNotFoundError","message":"m","sessionID":"s"}`,
		`{"_tag":"ConflictError","reason":"cursor_ahead","head":"1"}`, "{",
	} {
		f.Add(404, []byte(s))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		err := DecodeError(status, body)
		if err == nil {
			t.Fatal("an error answer is no error")
		}
		if e, ok := errors.AsType[*session.Error](err); ok { // an error that was understood is encoded again
			if _, b := EncodeError(e, ErrorContext{}); len(b) == 0 {
				t.Fatal("no body")
			}
		}
	})
}
