package opencode

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestErrorOf(t *testing.T) {
	said := func(r session.Reason, s session.Said) *session.Failure {
		f := session.Fail(r, "ours")
		f.Provider = &s
		return f
	}
	for _, c := range []struct {
		failure *session.Failure
		want    string
	}{
		{session.Fail(session.ReasonAborted, "x"), `{"name":"MessageAbortedError","data":{"message":"Aborted"}}`},
		{
			session.Fail(session.ReasonAuth, "no key"),
			`{"name":"ProviderAuthError","data":{"providerID":"p","message":"no key"}}`,
		},
		{
			said(session.ReasonAPI, session.Said{Message: "theirs", Status: 400, Body: "{}"}),
			`{"name":"APIError","data":{"message":"theirs","statusCode":400,"isRetryable":false,"responseBody":"{}"}}`,
		},
		{
			said(session.ReasonAuth, session.Said{Message: "theirs", Status: 401}),
			`{"name":"APIError","data":{"message":"theirs","statusCode":401,"isRetryable":false}}`,
		},
		{
			said(session.ReasonAPI, session.Said{Message: "theirs", Status: 503, IsTransient: true}),
			`{"name":"APIError","data":{"message":"theirs","statusCode":503,"isRetryable":true}}`,
		},
		{
			said(session.ReasonOverflow, session.Said{Message: "long", Status: 400, Body: "{}"}),
			`{"name":"ContextOverflowError","data":{"message":"long","responseBody":"{}"}}`,
		},
		{
			said(session.ReasonContentFilter, session.Said{Message: "bad"}),
			`{"name":"ContentFilterError","data":{"message":"bad"}}`,
		},
		{session.Fail(session.ReasonInternal, "x"), `{"name":"UnknownError","data":{"message":"x"}}`},
	} {
		b, err := json.Marshal(c.failure.PublicForm("p"))
		if err != nil || string(b) != c.want {
			t.Errorf("%s: %s %v\nwant %s", c.failure.Reason, b, err, c.want)
		}
	}
}
