package sharepage_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/transfer/sharepage"
)

// world is a whole cairn in this process with a shared session, and a server of pages.
type world struct {
	t       *testing.T
	api     *api.Client
	id      session.ID
	share   api.Share
	address string // of the page
	base    string // of the server
}

const model = `{"turns": [{"match": "hostile", "steps": [{"text": "<script>alert(1)</script> [x](javascript:alert(2)) known-secret"}]},
	{"repeat": true, "steps": [{"text": "Done."}]}]}`

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	file, work := filepath.Join(home, "model.json"), filepath.Join(home, "work")
	if err := os.WriteFile(file, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string {
		return map[string]string{"CAIRN_HOME": home, "HOME": home, "CAIRN_LOG": "error", "OPENAI_API_KEY": "known-secret", "PATH": os.Getenv("PATH")}[name]
	}
	c, err := host.Host{}.Open(t.Context(), client.Options{Dir: work, Env: env, Version: "test", Program: client.Program{Models: []*llm.EmbeddedModel{script.Embed(file)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, api: c.API}
	server := httptest.NewServer(&sharepage.Server{
		API: w.api, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	w.base = server.URL
	s, err := w.api.Create(t.Context(), api.CreateSession{Location: &session.Location{Directory: work}, Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	w.id = s.ID
	if w.share, err = w.api.ShareSession(t.Context(), s.ID, api.ShareRequest{}); err != nil {
		t.Fatal(err)
	}
	w.address = server.URL + "/s/" + w.share.ID
	return w
}

// prompt prompts the session and waits for the end of the work.
func (w *world) prompt(text string) *session.Input {
	w.t.Helper()
	in, err := w.api.Prompt(w.t.Context(), w.id, api.PromptRequest{Prompt: &session.Prompt{Text: text}})
	if err == nil {
		err = w.api.Wait(w.t.Context(), w.id)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// ask sends a request and returns the response with the body, unless it is an open page.
func (w *world) ask(method, address string) (*http.Response, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp, string(body)
}

// reader reads an open page.
type reader struct {
	t    *testing.T
	in   *bufio.Reader
	read string
}

func (w *world) open() *reader {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatal(resp, err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return &reader{t: w.t, in: bufio.NewReader(resp.Body)}
}

// until reads until the page has the text.
func (r *reader) until(text string) {
	r.t.Helper()
	late := time.AfterFunc(20*time.Second, func() { panic("the page does not have " + text + ":\n" + r.read) })
	defer late.Stop()
	for !strings.Contains(r.read, text) {
		line, err := r.in.ReadString('\n')
		if r.read += line; err != nil && !strings.Contains(r.read, text) {
			r.t.Fatalf("the page ended without %q: %v\n%s", text, err, r.read)
		}
	}
}

// A page can only be read, and what is not shared is the same as what never was.
func TestPageIsClosed(t *testing.T) {
	w := newWorld(t)
	resp, _ := w.ask(http.MethodHead, w.address)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow", "Set-Cookie": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	policy := resp.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("%q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
		t.Error(policy)
	}
	if resp, _ := w.ask(http.MethodPost, w.address); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Error(resp.Status)
	}
	// All these are the same answer.
	_, never := w.ask(http.MethodGet, w.base+"/s/00000000000000000000000000000000")
	for _, path := range []string{
		"", "/", "/s", "/s/", "/s/" + string(w.id), "/s/" + w.share.ID + "/", "/s/" + strings.ToUpper("0a") + w.share.ID[2:] + "0",
		"/s/../s/x", "/api/share", "/api/session", "/s/" + w.share.ID[:31] + "g",
	} {
		resp, body := w.ask(http.MethodGet, w.base+path)
		if resp.StatusCode != http.StatusNotFound || body != never {
			t.Errorf("%s: %s %q", path, resp.Status, body)
		}
	}
	if _, err := w.api.RevokeShare(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	if resp, body := w.ask(http.MethodGet, w.address); resp.StatusCode != http.StatusNotFound || body != never {
		t.Errorf("%s %q", resp.Status, body)
	}
}

// A page grows with what is said, without what is hostile or secret.
func TestPageGrows(t *testing.T) {
	w := newWorld(t)
	w.prompt("first </main><style>body{display:none}</style>")
	r := w.open()
	r.until("Done.")
	w.prompt("second, hostile")
	r.until("second, hostile")
	r.until("[redacted]")
	for _, hostile := range []string{"<script", "href=\"javascript:", "<style>body{display", "known-secret"} {
		if strings.Contains(r.read, hostile) {
			t.Errorf("the page has %q:\n%s", hostile, r.read)
		}
	}
	if n := strings.Count(r.read, "first "); n != 1 {
		t.Errorf("the first prompt is there %d times", n)
	}
}

// Messages that are reverted leave a page that is open, and are missing from a page that is opened afterwards.
func TestPageIsLoadedAgain(t *testing.T) {
	w := newWorld(t)
	w.prompt("first")
	in := w.prompt("second")
	r := w.open()
	r.until("second")
	_, err := api.Reverts{Client: w.api}.StageRevert(t.Context(), w.id, api.RevertRequest{MessageID: in.ID, Before: true})
	if err != nil {
		t.Fatal(err)
	}
	r.until(`http-equiv="refresh"`)
	r.until("</html>")
	again := w.open()
	again.until("first")
	if strings.Contains(again.read, "second") {
		t.Errorf("what was taken back is on the page:\n%s", again.read)
	}
	w.prompt("third")
	again.until(`http-equiv="refresh"`) // the prompt removes what was taken back
	last := w.open()
	last.until("third")
	if strings.Contains(last.read, "second") {
		t.Errorf("what was taken back is on the page:\n%s", last.read)
	}
}

// A revert of files alone takes back no messages; when it becomes one of messages at the same message, the page is loaded
// again.
func TestPageAfterRevertOfFiles(t *testing.T) {
	w := newWorld(t)
	w.prompt("first")
	in := w.prompt("second")
	stage := func(messages bool) {
		t.Helper()
		request := api.RevertRequest{MessageID: in.ID, Before: true, Messages: &messages}
		if _, err := (api.Reverts{Client: w.api}).StageRevert(t.Context(), w.id, request); err != nil {
			t.Fatal(err)
		}
	}
	stage(false)
	r := w.open()
	r.until("second")
	stage(true)
	r.until(`http-equiv="refresh"`)
}

// A page that is open when its share is revoked, or its session deleted, is loaded again and then answers 404.
func TestPageOfRevokedShare(t *testing.T) {
	for _, isDeleted := range []bool{false, true} {
		w := newWorld(t)
		w.prompt("first")
		r := w.open()
		r.until("first")
		var err error
		if isDeleted {
			err = w.api.Delete(t.Context(), w.id)
		} else {
			_, err = w.api.RevokeShare(t.Context(), w.id)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.until(`http-equiv="refresh"`)
		if resp, _ := w.ask(http.MethodGet, w.address); resp.StatusCode != http.StatusNotFound {
			t.Error(isDeleted, resp.Status)
		}
	}
}

// A request that announces a body which does not come holds no connection.
func TestRequestWithBody(t *testing.T) {
	server := httptest.NewServer(&sharepage.Server{Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /s/x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
		t.Errorf("%q, %v", answer, err)
	}
}
