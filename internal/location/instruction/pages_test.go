package instruction

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/systemcontext"
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

// A page is fetched once in five minutes, in the background; what it said last stays in force while it cannot be
// reached, also after a restart. A page that was never fetched blocks a first context and is named.
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
			"https://a.org/404":        says(404, "Not for the model."),
			"https://a.org/down":       says(302, "http://127.0.0.1/plain"),
			"http://127.0.0.1/moved":   says(302, "http://127.0.0.1/plain"),
			"http://127.0.0.1/plain":   says(200, "Moved."),
			"http://a.org/unencrypted": says(200, "Not without https."),
			"https://a.org/big":        says(200, strings.Repeat("line\n", MaxBytes)),
		}
		dir := t.TempDir()
		start := func() *webcache.Pages {
			c := &webcache.Pages{Dir: dir, Transport: w}
			t.Cleanup(c.Close)
			return c
		}
		o := Options{Directory: t.TempDir(), Pages: start(), Configured: []string{
			"https://a.org/x?key=secret", "https://a.org/x?key=secret", "http://127.0.0.1/moved", "ftp://a.org/x",
			"http://a.org/unencrypted",
		}}
		got := instructionsText(t, o)
		for _, want := range []string{"https://a.org/x", "Use tabs.\n\uFFFD\uFFFD", "Moved."} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%q is not in the text once: %q", want, got)
			}
		}
		if strings.Contains(got, "secret") || strings.Contains(got, "Not ") {
			t.Error(got)
		}
		text = "Use blanks."
		if instructionsText(t, o) != got || asked != 1 {
			t.Errorf("it was asked %d times", asked)
		}
		time.Sleep(6 * time.Minute) // of the bubble
		if instructionsText(t, o) != got {
			t.Error("a page that is known is waited for")
		}
		synctest.Wait()
		if got = instructionsText(t, o); !strings.Contains(got, "Use blanks.") || asked != 2 {
			t.Errorf("asked %d times: %s", asked, got)
		}
		broken = true
		for range 3 {
			time.Sleep(25 * time.Hour)
			o.Pages = start() // another process
			if again := instructionsText(t, o); again != got {
				t.Errorf("what it said before is lost: %s", again)
			}
		}
		o.Configured = []string{"https://a.org/404", "https://a.org/down"}
		left := instructionsText(t, o)
		if strings.Count(left, NotFetched) != 2 || !strings.Contains(left, "https://a.org/404") {
			t.Errorf("a page that is not required: %s", left)
		}
		o.Configured = []string{
			"https://u:secret@never.org#required", "https://a.org/404#required", "https://a.org/down#required",
		}
		began := time.Now()
		_, err := systemcontext.Initialize(t.Context(), (&world{t: t, root: "/none", opts: o}).context())
		want := "https://never.org: the answer has not arrived yet; the fetch goes on in the background; " +
			"https://a.org/404: the server answers 404; https://a.org/down: the server answers 302"
		if err == nil || !strings.HasSuffix(err.Error(), want) || time.Since(began) != 2*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		o.Configured = []string{"https://a.org/big"}
		if got = instructionsText(t, o); len(got) > MaxBytes+500 || !strings.Contains(got, "(Cut here") {
			t.Errorf("%d bytes", len(got))
		}
		if o.Pages = nil; instructionsText(t, o) != "" {
			t.Error("a page was read without a cache")
		}
	})
}

// A file system that does not answer makes the file that is read unavailable, and does not hold the turn.
func TestHangingFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		path := "/net/AGENTS.md"
		r := &reader{candidates: func() [][]candidate { <-release; return nil }}
		r.at.Store(&path)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		for range maxHanging + 1 {
			if _, err := r.read(ctx); err == nil || err.Error() != path+": the file system does not answer" {
				t.Errorf("got %v", err)
			}
		}
		if n := r.running.Load(); n != maxHanging {
			t.Errorf("%d reads are left behind", n)
		}
	})
}
