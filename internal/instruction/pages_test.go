package instruction

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// web answers requests by their address; a nil answer never comes.
type web map[string]func() (*http.Response, error)

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := w[r.URL.String()]
	if answer == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return answer()
}

func says(status int, text string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{
			StatusCode: status,
			Header:     http.Header{"Location": {text}},
			Body:       io.NopCloser(strings.NewReader(text)),
		}, nil
	}
}

// instructionsText returns the text of the instructions for the model.
func instructionsText(t *testing.T, o Options) string {
	t.Helper()
	w := &world{t: t, root: "/none", opts: o}
	return w.baseline()
}

func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		text, broken := "Use tabs.\n\x00\xff", false
		w := web{
			"https://a.org/x?key=secret": func() (*http.Response, error) {
				if asked++; broken {
					return nil, errors.New("gone")
				}
				return says(200, text)()
			},
			"http://a.org/404":    says(404, "Not for the model."),
			"https://a.org/down":  says(302, "http://a.org/plain"),
			"http://a.org/plain":  says(200, "Not by way of https."),
			"http://a.org/moved":  says(302, "http://a.org/plain2"),
			"http://a.org/plain2": says(200, "Moved."),
			"https://a.org/big":   says(200, strings.Repeat("line\n", MaxBytes)),
		}
		o := Options{Directory: t.TempDir(), Pages: &Pages{Transport: w}, Configured: []string{
			"https://u:secret@never.org", "https://a.org/x?key=secret", "https://a.org/x?key=secret", "http://a.org/404", "https://a.org/down", "http://a.org/moved", "ftp://a.org/x",
		}}
		start := time.Now()
		got := instructionsText(t, o)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		for _, want := range []string{"https://a.org/x", "Use tabs.\n\uFFFD\uFFFD", "Moved."} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is not in the text once: %q", want, got)
			}
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "Not ") || strings.Contains(got, "never") {
			t.Error(got)
		}
		text = "Use blanks."
		if instructionsText(t, o) != got || asked != 1 {
			t.Errorf("it was asked %d times", asked)
		}
		time.Sleep(5*time.Minute + time.Second) // of the bubble
		if got = instructionsText(t, o); !strings.Contains(got, "Use blanks.") || asked != 2 {
			t.Errorf("asked %d times: %s", asked, got)
		}
		broken = true
		time.Sleep(5*time.Minute + time.Second)
		if again := instructionsText(t, o); again != got || asked != 3 {
			t.Errorf("what it said before is lost: %s", again)
		}
		o.Configured = []string{"https://a.org/big"}
		if got = instructionsText(t, o); len(got) > MaxBytes+500 || !strings.Contains(got, "(Cut here") {
			t.Errorf("%d bytes", len(got))
		}
		if o.Pages = nil; instructionsText(t, o) != "" {
			t.Error("a page was read without Pages")
		}
	})
}
