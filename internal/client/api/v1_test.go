package api

import (
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestDecodeV1Error(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		code   session.Code
		text   string
	}{
		{400, `{"name":"BadRequest","data":{"message":"no such agent"}}`, session.CodeInvalid, "no such agent"},
		{401, `{"message":"log in"}`, session.CodeDenied, "log in"},
		{404, `not JSON`, session.CodeNotFound, "Not Found"},
		{503, `{}`, session.CodeUnavailable, "Service Unavailable"},
		{500, `{"data":{"message":"broken"}}`, session.CodeInternal, "broken"},
	} {
		e, ok := errors.AsType[*session.Error](decodeV1Error(tt.status, []byte(tt.body)))
		if !ok || e.Code != tt.code || e.Message != tt.text {
			t.Errorf("decodeV1Error(%d, %s) = %+v, want %s %q", tt.status, tt.body, e, tt.code, tt.text)
		}
	}
}
