//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// shareTarget is a server of shares that takes everything.
type shareTarget struct {
	*httptest.Server

	mu       sync.Mutex // guards the rest
	bodies   [][]byte   // of what was sent
	messages map[string]bool
	arrived  chan struct{} // closed when bodies changes
}

func newShareTarget() *shareTarget {
	t := &shareTarget{messages: map[string]bool{}, arrived: make(chan struct{})}
	t.Server = httptest.NewServer(t)
	return t
}

var messageItem = regexp.MustCompile(`"type":"message","data":\{"id":"(msg_[A-Za-z0-9]+)"`)

func (t *shareTarget) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return
	case r.URL.Path == "/api/share":
		fmt.Fprintf(w, `{"id":"bench","url":"%s/share/bench","secret":"s"}`, t.URL)
		return
	case r.Method == http.MethodGet:
		_, _ = io.WriteString(w, "[]")
		return
	case strings.HasSuffix(r.URL.Path, "/sync"):
		t.mu.Lock()
		t.bodies = append(t.bodies, body)
		for _, m := range messageItem.FindAllSubmatch(body, -1) {
			t.messages[string(m[1])] = true
		}
		close(t.arrived)
		t.arrived = make(chan struct{})
		t.mu.Unlock()
	}
	_, _ = io.WriteString(w, "{}")
}

// waitFor waits until the target has n messages.
func (t *shareTarget) waitFor(ctx context.Context, n int) error {
	for {
		t.mu.Lock()
		have, arrived := len(t.messages), t.arrived
		t.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("the target has %d of %d messages: %w", have, n, context.Cause(ctx))
		}
	}
}

// sendAgain sends what was sent once more, from this process, and returns the time that it took.
func (t *shareTarget) sendAgain(ctx context.Context) (took time.Duration, err error) {
	t.mu.Lock()
	bodies := t.bodies
	t.mu.Unlock()
	start := time.Now()
	for _, body := range bodies {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL+"/raw", bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		resp, err := t.Client().Do(req)
		if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return 0, err
		}
		_ = resp.Body.Close() // it was read
	}
	return time.Since(start), nil
}

// configure adds members to the configuration of the home.
func (h *home) configure(members string) {
	for i, v := range h.env {
		if rest, ok := strings.CutPrefix(v, "CAIRN_CONFIG_CONTENT={"); ok {
			h.env[i] = "CAIRN_CONFIG_CONTENT={" + members + "," + rest
		}
	}
}

// measureShare shares a session of 10,000 messages: at a server on this machine, and then on a page of cairn.
func (b *bench) measureShare(ctx context.Context) error {
	target := newShareTarget()
	defer target.Close()
	h, n := b.newHome("share"), b.scaleCount(10_000)
	var id session.ID
	err := b.runServer(ctx, h, func(s *server) (err error) {
		if id, err = s.begin(ctx); err == nil {
			_, err = b.runTurn(ctx, s, id, order{n: 1, size: 5})
		}
		return err
	})
	if err == nil {
		err = writeHistory(ctx, h.dataDir(), []session.ID{id}, []int{n})
	}
	if err != nil {
		return err
	}
	remote := *h
	remote.env = append([]string(nil), h.env...)
	remote.configure(fmt.Sprintf(`"enterprise":{"url":%q}`, target.URL))
	if err := b.runServer(ctx, &remote, func(s *server) error { return b.shareAtTarget(ctx, s, target, id) }); err != nil {
		return err
	}
	target.mu.Lock()
	shown := len(target.messages)
	target.mu.Unlock()
	return b.runServer(ctx, h, func(s *server) error { return b.shareOnPage(ctx, h, s, id, shown) })
}

// shareAtTarget shares the session at the target, sends updates, and ends the share.
func (b *bench) shareAtTarget(ctx context.Context, s *server, target *shareTarget, id session.ID) error {
	n, err := countMessages(ctx, s, id)
	if err != nil {
		return err
	}
	quiet := b.settle(ctx)
	start := time.Now()
	if _, err := s.client.ShareSession(ctx, id, api.ShareRequest{}); err != nil {
		return err
	}
	if err := target.waitFor(ctx, n); err != nil {
		return err
	}
	took := time.Since(start)
	foreign := quiet.foreignSince()
	raw, err := target.sendAgain(ctx)
	if err != nil {
		return err
	}
	b.add(row{
		ID: "P33", What: fmt.Sprintf("share %d messages at a server, complete", n), Figure: took.Seconds(), Unit: "s", N: 1,
		Target: 10, Limit: raw.Seconds(), Of: "the same bytes", Foreign: foreign,
	})
	// Updates: from the end of a turn until the server has it.
	var ms []float64
	for range b.scaleCount(20) {
		if _, err := b.runTurn(ctx, s, id, order{n: 1, size: 5}); err != nil {
			return err
		}
		n += 2
		start := time.Now()
		if err := target.waitFor(ctx, n); err != nil {
			return err
		}
		ms = append(ms, toMillis(time.Since(start)))
	}
	b.add(row{
		ID: "P33", What: "share: a turn's end until the server has it, p95", Figure: quantileOf(ms, 0.95), Unit: "ms", N: len(ms),
		Target: 1000,
	})
	result, err := s.client.RevokeShare(ctx, id)
	if err == nil && !result.Revoked {
		err = fmt.Errorf("share not revoked: %s", result.Failure)
	}
	return err
}

// countMessages returns the number of messages of the session that people see.
func countMessages(ctx context.Context, s *server, id session.ID) (n int, err error) {
	q := api.MessageQuery{Oldest: true, Limit: 200}
	for {
		page, err := s.client.Messages(ctx, id, q)
		if err != nil {
			return 0, err
		}
		for _, m := range page.Data {
			if t := m.Meta().Type; t == session.TypeUser || t == session.TypeAssistant {
				n++
			}
		}
		if len(page.Data) < q.Limit || page.Cursor.Next == "" {
			return n, nil
		}
		q.Cursor = page.Cursor.Next
	}
}

// shareOnPage reads the page of the session until it has all n messages.
func (b *bench) shareOnPage(ctx context.Context, h *home, s *server, id session.ID, n int) error {
	cmd := h.newCommand(ctx, b.binary, "share", "serve", "--port", "0", "--json")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // the status of a server that was stopped may not be 0
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, ok := strings.Cut(line, `"http://`)
	if address, _, _ = strings.Cut(address, `"`); err != nil || !ok {
		return fmt.Errorf("cairn share serve: %q, %w", line, err)
	}
	share, err := s.client.ShareSession(ctx, id, api.ShareRequest{})
	if err != nil {
		return err
	}
	quiet := b.settle(ctx)
	var seconds []float64
	var page []byte
	for range 3 {
		start := time.Now()
		if page, err = readPage(ctx, "http://"+address+share.URL[strings.LastIndex(share.URL, "/s/"):], n); err != nil {
			return err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	foreign := quiet.foreignSince()
	// The same bytes from a server that has them.
	raw := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) }))
	defer raw.Close()
	start := time.Now()
	if _, err := readPage(ctx, raw.URL, n); err != nil {
		return err
	}
	b.add(row{
		ID: "P33", What: fmt.Sprintf("share: page of %d messages, to its last one", n), Figure: medianOf(seconds), Unit: "s",
		N: len(seconds), Limit: time.Since(start).Seconds(), Of: "the same bytes", Foreign: foreign,
	})
	return nil
}

// readPage reads a page until it has n messages: it does not end by itself. It returns what it has read.
func readPage(ctx context.Context, url string, n int) (page []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	end := []byte("</section>")
	buf := make([]byte, 64<<10)
	for found := 0; found < n; {
		m, err := resp.Body.Read(buf)
		from := max(0, len(page)-len(end)+1)
		page = append(page, buf[:m]...)
		if found += bytes.Count(page[from:], end); err != nil && found < n {
			return nil, fmt.Errorf("the page with status %d ends after %d of %d messages: %w", resp.StatusCode, found, n, err)
		}
	}
	return page, nil
}
