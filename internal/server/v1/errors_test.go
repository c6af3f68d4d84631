package v1

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// The envelopes are OpenCode's, as recorded.
func TestErrorEnvelopes(t *testing.T) {
	auth := session.Errorf(session.CodeDenied, "who?")
	auth.Kind = api.KindAuth
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{
			session.NotFound("session", "ses_5"), 404,
			`{"name":"NotFoundError","data":{"message":"Session not found: ses_5"}}`,
		},
		{
			session.NotFound("message", "msg_3"), 404,
			`{"name":"NotFoundError","data":{"message":"Message not found: msg_3"}}`,
		},
		{
			session.NotFound("permission", "per_1"), 404,
			`{"_tag":"PermissionNotFoundError","requestID":"per_1","message":"Permission request not found: per_1"}`,
		},
		{
			session.NotFound("question", "que_1"), 404,
			`{"_tag":"QuestionNotFoundError","requestID":"que_1","message":"Question request not found: que_1"}`,
		},
		{
			session.NotFound("mcp", "none"), 404,
			`{"_tag":"McpServerNotFoundError","name":"none","message":"MCP server not found: none"}`,
		},
		{
			session.NotFound("pty", "pty_1"), 404,
			`{"_tag":"PtyNotFoundError","ptyID":"pty_1","message":"PTY session not found: pty_1"}`,
		},
		{
			session.NotFound("agent", "bild", "build"), 404,
			`{"name":"NotFoundError","data":{"message":"agent \"bild\" not found; did you mean build?"}}`,
		},
		{
			session.Conflict("session", "ses_5", "is busy"), 409,
			`{"_tag":"SessionBusyError","sessionID":"ses_5","message":"session \"ses_5\" is busy"}`,
		},
		{
			httpio.NewInvalid("body", "parts[0].text", "wrong"), 400,
			`{"_tag":"BadRequest","name":"BadRequest","data":{"message":"wrong\n  at [\"parts\"][0][\"text\"]","kind":"Payload"}}`,
		},
		{
			httpio.NewInvalid("query", "pattern", "pattern is missing"), 400,
			`{"_tag":"BadRequest","name":"BadRequest","data":{"message":"pattern is missing\n  at [\"pattern\"]","kind":"Query"}}`,
		},
		{
			httpio.NewInvalid("params", "requestID", "wrong"), 400,
			`{"_tag":"BadRequest","name":"BadRequest","data":{"message":"wrong\n  at [\"requestID\"]","kind":"Params"}}`,
		},
		{session.Errorf(session.CodeTooLarge, "big"), 413, `{"name":"RequestTooLargeError","data":{"message":"big"}}`},
		{
			session.Errorf(session.CodeTooMany, "later"), 429,
			`{"name":"TooManyRequestsError","data":{"message":"later"}}`,
		},
		{
			session.Errorf(session.CodeUnavailable, "closing"), 503,
			`{"name":"ServiceUnavailableError","data":{"message":"closing"}}`,
		},
		{session.Errorf(session.CodeDenied, "no"), 403, `{"name":"ForbiddenError","data":{"message":"no"}}`},
		{
			httpio.NewUnsupportedMedia("text/html"), 415,
			`{"name":"UnsupportedMediaTypeError","data":{"message":"the body must be sent as application/json, got \"text/html\""}}`,
		},
		{auth, 401, ``},
		{&config.Error{
			Position: document.Position{File: "/w/opencode.json", Line: 2, Column: 5}, Key: "agent.a.tools[1]",
			Message: "want text",
		}, 400, `{"name":"ConfigInvalidError","data":{"path":"/w/opencode.json","issues":[{"path":["agent","a","tools",1],"message":"line 2, column 5: want text"}]}}`},
		{httpio.WithPart("query", fmt.Errorf("location: %w",
			&config.Error{
				Position: document.Position{File: "/w/opencode.json", Line: 2, Column: 5},
				Message:  "it is not JSON",
			})), 400, `{"name":"ConfigJsonError","data":{"path":"/w/opencode.json","message":"line 2, column 5: it is not JSON"}}`},
	} {
		w := httptest.NewRecorder()
		New(Config{}).Fail(w, httptest.NewRequest("GET", "/x", nil), c.err)
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
	}
}

// What is ours goes to the log, under the ref that the answer names.
func TestInnerWordsStayInside(t *testing.T) {
	var log strings.Builder
	a := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w := httptest.NewRecorder()
	a.Fail(w, httptest.NewRequest("GET", "/x", nil), errors.New("secret words"))
	body := w.Body.String()
	_, rest, found := strings.Cut(
		body,
		`{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"`,
	)
	ref, _, _ := strings.Cut(rest, `"`)
	if w.Code != 500 || !found || strings.Contains(body, "secret") || !strings.Contains(log.String(), ref) ||
		!strings.Contains(log.String(), "secret words") {
		t.Errorf("%d %s\n%s", w.Code, body, &log)
	}
}
