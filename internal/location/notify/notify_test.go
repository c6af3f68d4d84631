//go:build unix

package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// webhook is a server without a network.
type webhook struct {
	answer func(n int, r *http.Request) (*http.Response, error) // to the n-th request, from 1

	mu   sync.Mutex // guards said
	said []string   // what it was told
}

func (w *webhook) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.said = append(w.said, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("Authorization"), " ", string(body)))
	n := len(w.said)
	w.mu.Unlock()
	return w.answer(n, r)
}

func says(code int, header ...string) (*http.Response, error) {
	resp := &http.Response{
		StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("x")),
	}
	for i := 0; i+1 < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp, nil
}

// newSender returns a sender whose sessions are all alike, and its log.
func newSender(w *webhook) (*Sender, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return NewSender(Options{
		Find: func(_ context.Context, id session.ID) (*session.Session, error) {
			if id == "ses_gone" {
				return nil, errors.New("the session is gone")
			}
			return &session.Session{
				ID: id, Title: "Work", Cost: session.Dollar / 4, Location: session.Location{Directory: "/repo"},
			}, nil
		},
		Supervisor: process.SupervisorCommand(), Transport: w, Logger: slog.New(slog.NewTextHandler(log, nil)),
	}), log
}

// tell tells the targets of events.
func tell(t *testing.T, s *Sender, targets map[string]config.Notify, events ...extension.Event) {
	t.Helper()
	for _, e := range events {
		for _, x := range s.Extensions(targets, t.TempDir(), process.Environment{}) {
			if err := x.Event(t.Context(), &e); err != nil {
				t.Error(err)
			}
		}
	}
}

func closeWithin(s *Sender, d time.Duration) (took time.Duration) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	s.Close(ctx)
	return time.Since(began)
}

var failed = extension.Event{Type: extension.EventWorkFailed, SessionID: "ses_1", Cause: "auth", Text: "no key"}

// TestEvents: targets are told of asks, ends and failures, of those that they want, and of nothing else.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: func(int, *http.Request) (*http.Response, error) { return says(204) }}
		s, _ := newSender(w)
		off := false
		tell(t, s, map[string]config.Notify{
			"all":  {Webhook: "https://a.example/x", Headers: map[string]string{"Authorization": "Bearer k"}},
			"some": {Webhook: "https://b.example/", On: []string{"failure"}},
			"off":  {Webhook: "https://c.example/", Enabled: &off},
		},
			extension.Event{Type: extension.EventSessionStarted, SessionID: "ses_1"},
			extension.Event{Type: extension.EventAsked, SessionID: "ses_2", ParentID: "ses_1", Cause: "permission", Text: "may I?"},
			extension.Event{Type: extension.EventWorkEnded, SessionID: "ses_2", ParentID: "ses_1", Cause: "completed"},
			extension.Event{Type: extension.EventWorkFailed, SessionID: "ses_2", ParentID: "ses_1", Cause: "auth"},
			extension.Event{Type: extension.EventWorkEnded, SessionID: "ses_1", Cause: "interrupted"},
			extension.Event{
				Type: extension.EventWorkEnded, SessionID: "ses_1", Cause: "completed", Text: strings.Repeat("ü", 500),
				Duration: 1500 * time.Millisecond,
			},
			failed)
		closeWithin(s, time.Second)
		const tail = `"title":"Work","directory":"/repo","text":%q,"cost":0.25,"time":"2000-01-01T00:00:00Z"`
		want := []string{
			`POST https://a.example/x Bearer k {"event":"ask","sessionID":"ses_2",` + fmt.Sprintf(tail, "may I?") + `}`,
			`POST https://a.example/x Bearer k {"event":"end","sessionID":"ses_1",` +
				fmt.Sprintf(tail, strings.Repeat("ü", maxText/2)+"…") + `,"seconds":1.5}`,
			`POST https://a.example/x Bearer k {"event":"failure","sessionID":"ses_1",` + fmt.Sprintf(tail, "no key") + `}`,
			`POST https://b.example/  {"event":"failure","sessionID":"ses_1",` + fmt.Sprintf(tail, "no key") + `}`,
		}
		slices.SortStableFunc(w.said, func(a, b string) int { return strings.Compare(a[:25], b[:25]) }) // by target
		if got := strings.Join(w.said, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("said:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	})
}

// TestWebhookFailures: a message is sent again if that may succeed, three times and after a pause. A failure is logged
// without the address, which is a secret.
func TestWebhookFailures(t *testing.T) {
	for name, x := range map[string]struct {
		answer   func(n int, r *http.Request) (*http.Response, error)
		requests int
		wait     time.Duration // until the outcome
		logs     string
	}{
		"it is down": {func(int, *http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, 3, 4 * time.Second, "connection refused"},
		"500 once": {func(n int, _ *http.Request) (*http.Response, error) {
			return says([]int{500, 200}[n-1])
		}, 2, 2 * time.Second, ""},
		"429 with a time": {func(n int, _ *http.Request) (*http.Response, error) {
			return says([]int{429, 200}[n-1], "Retry-After", "5")
		}, 2, 5 * time.Second, ""},
		"429 with a long time": {func(int, *http.Request) (*http.Response, error) {
			return says(429, "Retry-After", "100000")
		}, 3, 21 * time.Second, "429"},
		"404": {func(int, *http.Request) (*http.Response, error) { return says(404) }, 1, 0, "404"},
		"a redirect": {func(int, *http.Request) (*http.Response, error) {
			return says(302, "Location", "https://evil.example/")
		}, 1, 0, "302"},
		"it hangs": {func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 3, 34 * time.Second, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &webhook{answer: x.answer}
				s, log := newSender(w)
				tell(t, s, map[string]config.Notify{"a": {Webhook: "https://hooks.example/s3cr3t"}}, failed)
				time.Sleep(x.wait)
				synctest.Wait()
				if took := closeWithin(s, time.Second); took > 0 || len(w.said) != x.requests {
					t.Errorf("%d requests; the end took %v", len(w.said), took)
				}
				if text := log.String(); !strings.Contains(text, x.logs) || strings.Contains(text, "s3cr3t") || x.logs == "" && text != "" {
					t.Errorf("the log: %s", text)
				}
			})
		})
	}
}

// TestQueue: while a receiver hangs the queue is bounded, what is too much is counted and logged, and neither who tells
// nor the end of the process waits.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &webhook{answer: func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}}
		s, log := newSender(w)
		began := time.Now()
		for range 200 {
			tell(t, s, map[string]config.Notify{"a": {Webhook: "https://a.example/"}}, failed)
		}
		synctest.Wait()
		if n := s.CountDropped(); time.Since(began) > 0 || n < 200-maxQueue-1 || n > 200-maxQueue {
			t.Errorf("%d are dropped after %v", n, time.Since(began))
		}
		if took := closeWithin(s, 2*time.Second); took != 2*time.Second || s.CountDropped() != 199 {
			t.Errorf("%d are dropped; the end took %v", s.CountDropped(), took)
		}
		if !strings.Contains(log.String(), "a message is dropped") || !strings.Contains(log.String(), "messages=64") {
			t.Errorf("the log: %.1000s", log)
		}
		tell(t, s, map[string]config.Notify{"a": {Webhook: "https://a.example/"}}, failed)
		if s.CountDropped() != 200 {
			t.Error("a message after the end is not counted")
		}
	})
}

// TestOwnQueues: a target that does not answer holds up no other one.
func TestOwnQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 9)
		w := &webhook{answer: func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Host == "hangs.example" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			said <- r.URL.Host
			return says(http.StatusOK)
		}}
		s, _ := newSender(w)
		for range 100 {
			tell(t, s, map[string]config.Notify{"a": {Webhook: "https://hangs.example/", Timeout: 3600}}, failed)
		}
		tell(t, s, map[string]config.Notify{"b": {Webhook: "https://b.example/"}}, failed)
		synctest.Wait()
		if len(said) != 1 {
			t.Errorf("%d messages were sent to the other target", len(said))
		}
		closeWithin(s, time.Second)
	})
}

// TestCommand: a command gets the message on its standard input, in a clean environment, below the mark of tools. It has
// a bounded time and output, and a failure is logged.
func TestCommand(t *testing.T) {
	t.Setenv("CAIRN_TOKEN", "s3cr3t")
	t.Setenv("OPENAI_API_KEY", "s3cr3t")
	t.Setenv("DISPLAY", ":7")
	out := filepath.Join(t.TempDir(), "out")
	for name, x := range map[string]struct {
		target     config.Notify
		wrote, log string
	}{
		"a shell": {config.Notify{Command: config.CommandLine{"sh", "-c", "cat > " + out}}, `{"event":"failure",`, ""},
		"a list":  {config.Notify{Command: config.CommandLine{"tee", out}}, `"text":"no key"`, ""},
		"clean":   {config.Notify{Command: config.CommandLine{"sh", "-c", "env > " + out}}, "DISPLAY=:7", ""},
		"missing": {config.Notify{Command: config.CommandLine{"cairn-has-no-such-program"}}, "", "not found"},
		"fails":   {config.Notify{Command: config.CommandLine{"sh", "-c", "echo odd >&2; exit 3"}}, "", "exit code 3: odd"},
		"floods":  {config.Notify{Command: config.CommandLine{"yes"}}, "", "more than 1 MiB"},
		"hangs":   {config.Notify{Command: config.CommandLine{"sleep", "1000"}, Timeout: 0.1}, "", "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(out)
			s, log := newSender(nil)
			tell(t, s, map[string]config.Notify{"a": x.target}, failed)
			closeWithin(s, time.Minute)
			text, _ := os.ReadFile(out) // missing: nothing was written
			if !strings.Contains(string(text), x.wrote) || strings.Contains(string(text), "s3cr3t") {
				t.Errorf("it wrote %s", text)
			}
			if got := log.String(); !strings.Contains(got, x.log) || x.log == "" && got != "" {
				t.Errorf("the log: %s", got)
			}
		})
	}
}

// TestRelativeCommand: a relative program is that of the session's directory, and a name is looked for on PATH.
func TestRelativeCommand(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	script := []byte("#!/bin/sh\necho \"$0\" > " + out + "\n")
	for _, name := range []string{"notify.sh", "bin/notify.sh", "sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), script, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command config.CommandLine
		want    string
	}{
		{config.CommandLine{"./notify.sh"}, filepath.Join(dir, "notify.sh")},
		{config.CommandLine{"bin/notify.sh"}, filepath.Join(dir, "bin/notify.sh")},
		{config.CommandLine{filepath.Join(dir, "notify.sh")}, filepath.Join(dir, "notify.sh")},
		{config.CommandLine{"sh", "-c", "echo $0 > " + out, "path"}, "path"},
	} {
		_ = os.Remove(out)
		s, log := newSender(nil)
		e := failed
		for _, x := range s.Extensions(map[string]config.Notify{"n": {Command: c.command}}, dir, process.Environment{}) {
			if err := x.Event(t.Context(), &e); err != nil {
				t.Error(err)
			}
		}
		closeWithin(s, time.Minute)
		if got, _ := os.ReadFile(out); strings.TrimSpace(string(got)) != c.want {
			t.Errorf("%q: %q, log %s", c.command, got, log)
		}
	}
}
