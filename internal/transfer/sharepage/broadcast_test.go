package sharepage_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/sharepage"
)

// counter counts the reads of messages.
type counter struct {
	next  http.RoundTripper
	reads atomic.Int64
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/message") {
		c.reads.Add(1)
	}
	return c.next.RoundTrip(r)
}

// newPages returns pages of the world whose reads are counted, and which replace the secrets.
func (w *world) newPages(secrets *atomic.Pointer[[]string]) (*sharepage.Pages, *counter) {
	client := *w.api
	inner := *client.HTTP
	c := &counter{next: inner.Transport}
	inner.Transport, client.HTTP = c, &inner
	p := &sharepage.Pages{API: &client, Dir: w.t.TempDir(), ListSecrets: func(context.Context, *session.Session) ([]string, error) {
		return slices.Clone(*secrets.Load()), nil
	}}
	w.t.Cleanup(p.Close)
	return p, c
}

// openPage opens the page of the share.
func (w *world) openPage(p *sharepage.Pages) *reader {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	write, err := p.Open(ctx, w.share)
	if err != nil {
		w.t.Fatal(err)
	}
	in, out := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		out.CloseWithError(write(ctx, out, func() error { return nil }))
	}()
	w.t.Cleanup(func() {
		cancel()
		in.Close()
		<-done
	})
	return &reader{t: w.t, in: bufio.NewReader(in)}
}

// All readers of a page cost the owner as much as one.
func TestReadersShareOneWriter(t *testing.T) {
	w := newWorld(t)
	w.prompt("first")
	secrets := &atomic.Pointer[[]string]{}
	secrets.Store(&[]string{})
	p, count := w.newPages(secrets)
	const readers = 20
	var all []*reader
	for range readers {
		all = append(all, w.openPage(p))
	}
	for _, r := range all {
		r.until("Done.")
	}
	w.prompt("second")
	for _, r := range all {
		r.until("second")
	}
	last := w.openPage(p) // it comes later, and gets the same
	last.until("second")
	if n := count.reads.Load(); n >= readers {
		t.Errorf("%d reads of messages for %d readers", n, readers)
	}
	if last.read != all[0].read {
		t.Errorf("readers got different pages:\n%s\n%s", last.read, all[0].read)
	}
}

// A secret that becomes known is replaced on pages that are open, and on those that are opened.
func TestNewSecretIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.prompt("use opaque-value")
	secrets := &atomic.Pointer[[]string]{}
	secrets.Store(&[]string{})
	p, _ := w.newPages(secrets)
	first := w.openPage(p)
	first.until("opaque-value")
	secrets.Store(&[]string{"opaque-value"})
	p.Age()
	second := w.openPage(p)
	second.until("Done.")
	if !strings.Contains(second.read, "[redacted]") || strings.Contains(second.read, "opaque-value") {
		t.Error(second.read)
	}
	first.until(`http-equiv="refresh"`)
}

// An open page lists the known secrets again before it writes newer messages: a secret that was stored meanwhile is not shown.
func TestNewSecretIsNotShown(t *testing.T) {
	w := newWorld(t)
	w.prompt("first")
	secrets := &atomic.Pointer[[]string]{}
	secrets.Store(&[]string{})
	p, _ := w.newPages(secrets)
	r := w.openPage(p)
	r.until("Done.")
	secrets.Store(&[]string{"opaque-value"})
	w.prompt("use opaque-value")
	r.until(`http-equiv="refresh"`)
	if strings.Contains(r.read, "opaque-value") {
		t.Error(r.read)
	}
}

// A page leaves nothing behind when its last reader has left, and a new reader gets it from its beginning.
func TestPageEndsWithItsReaders(t *testing.T) {
	w := newWorld(t)
	w.prompt("first " + strings.Repeat("long text ", 200_000)) // larger than what is held in memory
	secrets := &atomic.Pointer[[]string]{}
	secrets.Store(&[]string{})
	p, _ := w.newPages(secrets)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		write, err := p.Open(ctx, w.share)
		if err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		err = write(ctx, &page, func() error {
			if strings.Contains(page.String(), "Done.") {
				cancel()
			}
			return nil
		})
		if err != nil || !strings.HasPrefix(page.String(), "<!doctype html>") || page.Len() < 2_000_000 {
			t.Errorf("%d bytes, %v", page.Len(), err)
		}
	}
	p.Close()
	if files, err := os.ReadDir(p.Dir); err != nil || len(files) > 0 {
		t.Errorf("%v %v", files, err)
	}
	if _, err := p.Open(t.Context(), w.share); err == nil {
		t.Error("a page was opened after the end")
	}
}

// A reader of a session that does not exist gets the error.
func TestPageOfMissingSession(t *testing.T) {
	w := newWorld(t)
	secrets := &atomic.Pointer[[]string]{}
	secrets.Store(&[]string{})
	p, _ := w.newPages(secrets)
	if _, err := p.Open(t.Context(), api.Share{ID: "x", SessionID: "ses_22222222222222222222222222"}); err == nil {
		t.Error("the page of a missing session was opened")
	}
}
