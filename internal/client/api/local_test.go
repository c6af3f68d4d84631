package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

func localGet(t *testing.T, ctx context.Context, h http.HandlerFunc) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/x?y=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return (&http.Client{Transport: Local(h)}).Do(req)
}

func TestLocalAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		status  int
		body    string
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, 200, ""},
		"status":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204, ""},
		"body": {
			func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.RequestURI(), r.Host) }, 200,
			"/x?y=1localhost",
		},
		"two": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			w.WriteHeader(200)
			fmt.Fprint(w, "no")
		}, 400, "no"},
		"pieces": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "a")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "b")
		}, 200, "ab"},
		"no panic": {
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-A", "b"); w.WriteHeader(500) }, 500,
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				resp, err := localGet(t, t.Context(), c.handler)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != c.status || string(b) != c.body {
					t.Errorf("got %d %q %v", resp.StatusCode, b, err)
				}
			})
		})
	}
}

func TestLocalPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resp, err := localGet(t, t.Context(), func(http.ResponseWriter, *http.Request) { panic("boom") })
		if err == nil {
			resp.Body.Close()
			t.Error("no error")
		}
		resp, err = localGet(
			t,
			t.Context(),
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "half"); panic("boom") },
		)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err == nil || string(b) != "half" {
			t.Errorf("got %q %v", b, err)
		}
	})
}

// Closing the body, and ending the request's context, end the handler's context.
func TestLocalStreamsEnd(t *testing.T) {
	for name, leave := range map[string]func(cancel context.CancelFunc, body io.Closer){
		"close":  func(_ context.CancelFunc, body io.Closer) { body.Close() },
		"cancel": func(cancel context.CancelFunc, _ io.Closer) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan struct{})
				resp, err := localGet(t, ctx, func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					fmt.Fprint(w, "x")
					<-r.Context().Done()
				})
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				leave(cancel, resp.Body)
				<-ended
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Error("the body can still be read")
				}
			})
		})
	}
}

func TestLocalGivesUpBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		gone := errors.New("gone")
		go func() {
			synctest.Wait()
			cancel(gone)
		}()
		_, err := localGet(t, ctx, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		if err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("got %v", err)
		}
	})
}
