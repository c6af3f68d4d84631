package sharetarget

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

const (
	createBody = `{"sessionID":"ses_000000000001abcdef12345678"}`
	createPath = "/api/share"
	sharePath  = "/api/share/12345678"
	item       = `{"type":"session","data":{"id":"ses_1","title":"A"}}`
)

// transports runs a test through the network and through RoundTrip.
func transports(t *testing.T, test func(t *testing.T, target *Target, transport http.RoundTripper)) {
	t.Run("network", func(t *testing.T) { test(t, Start(t), http.DefaultTransport) })
	t.Run("round trip", func(t *testing.T) {
		target := New()
		test(t, target, target)
	})
}

// openShare creates the share of createBody and stores item in it. It returns the secret.
func openShare(t *testing.T, target *Target, transport http.RoundTripper) string {
	t.Helper()
	status, answer, err := try(t, transport, http.MethodPost, target.URL+createPath, createBody)
	var c created
	if err := errors.Join(err, json.Unmarshal(answer, &c)); err != nil || status != http.StatusOK {
		t.Fatalf("create: %d %s: %v", status, answer, err)
	}
	if c.ID != "12345678" || c.URL != target.URL+"/share/12345678" || c.Secret == "" {
		t.Fatalf("created %+v", c)
	}
	body := `{"secret":"` + c.Secret + `","data":[` + item + `]}`
	status, _, err = try(t, transport, http.MethodPost, target.URL+sharePath+"/sync", body)
	if status != 200 || err != nil {
		t.Fatalf("sync: %d: %v", status, err)
	}
	return c.Secret
}

// TestSecret: only who has the secret changes a share; everybody reads it.
func TestSecret(t *testing.T) {
	transports(t, func(t *testing.T, target *Target, transport http.RoundTripper) {
		secret := openShare(t, target, transport)
		for _, tc := range []struct {
			method, path, body string
			status             int
			shared             bool
		}{
			{http.MethodPost, createPath, createBody, 500, true}, // the session is shared already
			{http.MethodPost, sharePath + "/sync", `{"secret":"x","data":[{"type":"model","data":[]}]}`, 500, true},
			{http.MethodPost, sharePath + "/sync", `{"secret":"","data":[{"type":"model","data":[]}]}`, 500, true},
			{http.MethodPost, "/api/share/other/sync", `{"secret":"` + secret + `","data":[]}`, 500, true},
			{http.MethodDelete, sharePath, `{"secret":"x"}`, 500, true},
			{http.MethodDelete, "/api/share/other", `{"secret":"` + secret + `"}`, 500, true},
			{http.MethodDelete, sharePath, `{"secret":"` + secret + `"}`, 200, false},
			{http.MethodDelete, sharePath, `{"secret":"` + secret + `"}`, 500, false},
			{http.MethodPost, sharePath + "/sync", `{"secret":"` + secret + `","data":[` + item + `]}`, 500, false},
		} {
			status, _, err := try(t, transport, tc.method, target.URL+tc.path, tc.body)
			if err != nil || status != tc.status {
				t.Errorf("%s %s %s: %d, %v, want %d", tc.method, tc.path, tc.body, status, err, tc.status)
			}
			want := "[]"
			if tc.shared {
				want = "[" + item + "]"
			}
			_, data, _ := try(t, transport, http.MethodGet, target.URL+sharePath+"/data", "")
			if string(data) != want || target.IsShared("12345678") != tc.shared {
				t.Errorf("%s %s %s: data %s, shared %t", tc.method, tc.path, tc.body, data, target.IsShared("12345678"))
			}
		}
		// A new share of the session has another secret.
		if again := openShare(t, target, transport); again == secret {
			t.Errorf("the secret %q is used twice", again)
		}
		if err := errors.Join(target.Problems()...); err != nil {
			t.Errorf("problems: %v", err)
		}
	})
}

// TestFaults: each fault answers as it says, changes nothing else, and ends with Recover.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		fault  Fault
		status int // 0: the connection is closed
		answer string
	}{
		{Down, 0, ""},
		{Page, 200, "<!doctype html><html><body>Sign in</body></html>"},
		{Broken, 500, "Internal Server Error"},
		{Missing, 404, "404 Not Found"},
		{Empty, 200, "{}"},
		{KeepData, 200, "{}"},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			transports(t, func(t *testing.T, target *Target, transport http.RoundTripper) {
				secret := openShare(t, target, transport)
				body := `{"secret":"` + secret + `"}`
				target.Fail(tc.fault, Delete)
				status, answer, err := try(t, transport, http.MethodDelete, target.URL+sharePath, body)
				if status != tc.status || string(answer) != tc.answer || (err != nil) != (tc.status == 0) {
					t.Errorf("%d %s: %v", status, answer, err)
				}
				if len(target.Served("12345678")) != 1 {
					t.Error("the share is gone")
				}
				target.Recover()
				if status, _, err := try(t, transport, http.MethodDelete, target.URL+sharePath, body); status != 200 || err != nil {
					t.Errorf("recovered: %d, %v", status, err)
				}
				if len(target.Served("12345678")) != 0 {
					t.Error("the share is not gone")
				}
			})
		})
	}
}

// TestFalseCreation: what Create answers may not be what is stored.
func TestFalseCreation(t *testing.T) {
	for _, tc := range []struct {
		fault Fault
		want  created
	}{
		{OtherID, created{"other-12345678", "http://share.example/share/other-12345678", "secret-1-of-12345678"}},
		{EmptySecret, created{"12345678", "http://share.example/share/12345678", ""}},
	} {
		target := New()
		target.Fail(tc.fault)
		status, answer, err := try(t, target, http.MethodPost, target.URL+createPath, createBody)
		var got created
		if err := errors.Join(err, json.Unmarshal(answer, &got)); err != nil || status != 200 {
			t.Fatalf("%s: %d %v", tc.fault, status, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.fault, diff)
		}
		// What the client got is of no use to it.
		target.Recover()
		body := `{"secret":"` + got.Secret + `","data":[` + item + `]}`
		if status, _, _ := try(t, target, http.MethodPost, target.URL+"/api/share/"+got.ID+"/sync", body); status != 500 {
			t.Errorf("%s: a sync is %d", tc.fault, status)
		}
	}
}

// TestHeld: a held request is answered when the target recovers, and ends with its client.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := New()
		target.Fail(Held)
		done := make(chan int)
		go func() {
			status, _, _ := try(t, target, http.MethodPost, target.URL+createPath, createBody)
			done <- status
		}()
		arrived := func(n int) func([]Request) bool { return func(rs []Request) bool { return len(rs) == n } }
		if err := target.WaitFor(t.Context(), arrived(1)); err != nil {
			t.Fatal(err)
		}
		held := target.Requests()[0]
		if held.Status != 0 || held.Session != "ses_000000000001abcdef12345678" || target.IsShared("12345678") {
			t.Errorf("while it is held: %+v", held)
		}

		// A client that leaves takes its request along.
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("no patience"))
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.URL+sharePath+"/data", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := target.RoundTrip(req); err == nil || err.Error() != "no patience" {
			t.Errorf("the client that left got %v, %v", resp, err)
		}

		target.Recover()
		if status := <-done; status != 200 || !target.IsShared("12345678") {
			t.Errorf("after it was held: %d", status)
		}
		if rs := target.Requests(); rs[0].Status != 200 || rs[1].Status != 0 || rs[1].At.Before(rs[0].At) {
			t.Errorf("requests %+v", rs)
		}

		// WaitFor ends with its context.
		ctx, cancel = context.WithTimeoutCause(t.Context(), time.Hour, errors.New("too few"))
		defer cancel()
		if err := target.WaitFor(ctx, arrived(3)); err == nil || err.Error() != "too few" {
			t.Errorf("WaitFor: %v", err)
		}
	})
}

// TestMalformed: a request that is not one of the protocol is refused, is a problem and changes nothing.
func TestMalformed(t *testing.T) {
	for _, tc := range []struct{ method, path, body, problem string }{
		{"GET", "/api/share", "", "does not have this method"},
		{"PUT", "/api/share/a/sync", "{}", "does not have this method"},
		{"POST", "/api/share/", "{}", "the path is unknown"},
		{"POST", "/api/share/a", "{}", "does not have this method"},
		{"GET", "/share/a", "", "the path is unknown"},
		{"GET", "/", "", "the path is unknown"},
		{"POST", "/api/share", "{", "unexpected EOF"},
		{"POST", "/api/share", "{}", "lacks sessionID"},
		{"DELETE", sharePath, "{}", "lacks secret"},
		{"POST", sharePath + "/sync", `{"secret":"SECRET"}`, "lacks data"},
		{"POST", sharePath + "/sync", `{"secret":"SECRET","data":[{"type":"todo","data":[]}]}`, `the type "todo"`},
		{"POST", sharePath + "/sync", `{"secret":"SECRET","data":[{"type":"model","data":{}}]}`, "a model is not a list"},
		{"POST", sharePath + "/sync", `{"secret":"SECRET","data":[{"type":"session","data":[]}]}`, "the data of a session"},
		{"POST", sharePath + "/sync", `{"secret":"SECRET","data":[{"type":"session_diff"}]}`, "session_diff is not a list"},
		{"POST", sharePath + "/sync", `{"secret":"SECRET","data":[{"type":"message","data":{"id":"m"}}]}`, "lacks an id"},
		{
			"POST", sharePath + "/sync",
			`{"secret":"SECRET","data":[{"type":"model","data":[]},{"type":"part","data":{"id":"p","sessionID":"s"}}]}`,
			"part lacks an id",
		},
	} {
		target := New()
		secret := openShare(t, target, target)
		body := strings.Replace(tc.body, "SECRET", secret, 1)
		status, _, err := try(t, target, tc.method, target.URL+tc.path, body)
		problem := errors.Join(target.Problems()...)
		if err != nil || status != 400 || problem == nil || !strings.Contains(problem.Error(), tc.problem) {
			t.Errorf("%s %s %s: %d, %v, problem %v", tc.method, tc.path, tc.body, status, err, problem)
		}
		if len(target.Served("12345678")) != 1 {
			t.Errorf("%s %s %s changed the share", tc.method, tc.path, tc.body)
		}
	}

	// The Content-Type counts.
	target := New()
	body := strings.NewReader(createBody)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.URL+createPath, body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := target.RoundTrip(req)
	if err != nil || resp.StatusCode != 400 || len(target.Problems()) != 1 {
		t.Errorf("without a Content-Type: %v, %v", resp, err)
	}
}
