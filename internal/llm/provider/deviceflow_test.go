package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// said plays a server's answers in order and repeats the last one.
type said struct {
	answers []string
	at      []time.Duration // when it was asked
	begun   time.Time
}

func (s *said) RoundTrip(r *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.begun))
	status, text, _ := strings.Cut(s.answers[0], " ")
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	switch status {
	case "broken":
		return nil, errors.New("the network is gone")
	case "silent":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	code := map[string]int{"200": 200, "400": 400, "401": 401, "502": 502, "511": 511}[status]
	return &http.Response{
		StatusCode: code, Status: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r,
	}, nil
}

// TestDeviceFlow: the server is polled no faster than it allows, and the login ends whatever it answers.
func TestDeviceFlow(t *testing.T) {
	const code = `200 {"device_code":"d","user_code":"AB-12","verification_uri":"https://github.com/login/device",` +
		`"expires_in":900,"interval":2}`
	const token = `200 {"access_token":"gho_1"}`
	for name, tt := range map[string]struct {
		answers []string
		want    string // of the error
		took    time.Duration
	}{
		"at once": {[]string{code, token}, "", 2 * time.Second},
		"later": {
			[]string{code, `400 {"error":"authorization_pending"}`, `200 {"error":"authorization_pending"}`, token},
			"",
			6 * time.Second,
		},
		"slow down": {[]string{code, `200 {"error":"slow_down"}`, token}, "", 9 * time.Second},
		"slow down by much": {
			[]string{code, `200 {"error":"slow_down","interval":20}`, token}, "", 22 * time.Second,
		},
		"no interval": {
			[]string{strings.Replace(code, `"interval":2`, `"interval":0`, 1), token}, "", 5 * time.Second,
		},
		"a negative interval": {
			[]string{strings.Replace(code, `"interval":2`, `"interval":-1`, 1), token}, "", 5 * time.Second,
		},
		"an interval of years": {
			[]string{strings.Replace(code, `"interval":2`, `"interval":9000000000000`, 1), token}, "", time.Minute,
		},
		"transient failures": {[]string{code, "broken", "502 busy", token}, "", (2 + 4 + 8) * time.Second},
		"denied": {
			[]string{code, `200 {"error":"access_denied","error_description":"no"}`},
			"the login at GitHub failed: access was denied", 2 * time.Second,
		},
		"expired at the server": {
			[]string{code, `200 {"error":"expired_token"}`}, "not completed in time", 2 * time.Second,
		},
		"expired by the code's lifetime": {
			[]string{strings.Replace(code, "900", "60", 1), `200 {"error":"authorization_pending"}`},
			"not completed in time",
			time.Minute,
		},
		"login timeout": {
			[]string{code, `200 {"error":"authorization_pending"}`}, "not completed in time", 10 * time.Minute,
		},
		"permanent network failure": {
			[]string{code, "broken"}, "the network is gone", (2 + 4 + 8 + 16 + 32 + 6*60) * time.Second,
		},
		"wrong app": {
			[]string{code, "401 {\"error\":\"incorrect_client\",\"error_description\":\"who\\u001b[2J?\"}"},
			"failed: who [2J?",
			2 * time.Second,
		},
		"no code":  {[]string{`200 {}`}, "contains no code", 0},
		"null":     {[]string{`200 null`}, "contains no code", 0},
		"no token": {[]string{code, `200 {"access_token":""}`}, "contains no token", 2 * time.Second},
		"a page":   {[]string{"200 <html>Welcome to the hotel"}, "a login page of this network", 0},
		"a page while polling": {
			[]string{code, "200 <html>Welcome to the hotel"}, "a login page of this network", 2 * time.Second,
		},
		"no network":                      {[]string{"broken"}, "the network is gone", 0},
		"network authentication required": {[]string{"511 <html>"}, "HTTP 511", 0},
		"no address": {
			[]string{strings.Replace(code, "https://github.com/login/device", "javascript:alert(1)", 1)}, "contains no code", 0,
		},
		"no answer": {[]string{"silent"}, "cannot reach GitHub", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &said{answers: tt.answers, begun: time.Now()}
				l := provider.Login{
					Client: &http.Client{Transport: s, Timeout: 30 * time.Second}, ClientID: "Iv1.x", Show: func(string, string) {},
				}
				got, err := l.GitHub(t.Context())
				if tt.want == "" && (got != "gho_1" || err != nil) ||
					tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("%q, %v", got, err)
				}
				if took := time.Since(s.begun); took != tt.took {
					t.Errorf("it took %s, not %s: %v", took, tt.took, s.at)
				}
				if err != nil && (strings.Contains(err.Error(), "hotel") || strings.ContainsRune(err.Error(), '\x1b')) {
					t.Errorf("%q", err)
				}
			})
		})
	}
}

// TestDeviceFlowCancel: after a cancellation the error is the cancellation, not another failure.
func TestDeviceFlowCancel(t *testing.T) {
	const code = `200 {"device_code":"d","user_code":"AB-12","verification_uri":"https://github.com/login/device"}`
	for _, answers := range [][]string{{"silent"}, {code, `200 {"error":"authorization_pending"}`}, {code, "silent"}} {
		synctest.Test(t, func(t *testing.T) {
			left := errors.New("the user left")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(7*time.Second, func() { cancel(left) })
			l := provider.Login{
				Client: &http.Client{Transport: &said{answers: answers, begun: time.Now()}}, ClientID: "Iv1.x",
				Show: func(string, string) {},
			}
			if _, err := l.GitHub(ctx); !errors.Is(err, left) {
				t.Errorf("%v", err)
			}
		})
	}
}
