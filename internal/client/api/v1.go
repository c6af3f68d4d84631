package api

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// CallV1 makes one request of OpenCode's V1 contract, for the few outputs that have its form. A nil in sends no body. A
// refusal is a *session.Error with the server's message.
func (c *Client) CallV1(ctx context.Context, method, path string, in, out any) error {
	return c.sendCall(ctx, call{method: method, path: path, in: in, out: out, decodeError: decodeV1Error})
}

// decodeV1Error reads the error envelopes of the V1 contract: {name, data: {message}} and {message}.
func decodeV1Error(status int, body []byte) error {
	var envelope struct {
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	_ = json.Unmarshal(body, &envelope, jsontext.AllowInvalidUTF8(true)) // a missing message is replaced below
	e := &session.Error{Code: session.CodeInternal, Message: envelope.Data.Message}
	if e.Message == "" {
		e.Message = envelope.Message
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	switch status {
	case http.StatusBadRequest:
		e.Code = session.CodeInvalid
	case http.StatusUnauthorized:
		e.Code, e.Kind = session.CodeDenied, KindAuth
	case http.StatusNotFound:
		e.Code = session.CodeNotFound
	case http.StatusServiceUnavailable:
		e.Code = session.CodeUnavailable
	}
	return e
}
