package web_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

const article = `<!doctype html><html><head><title>The title</title><style>p{}</style><meta name=x></head><body>
<script>alert(1)</script><h1>Head &amp; tail</h1><p>One <b>bold</b>
line, <a href="/next?a=1">a link</a>.</p><ul><li>first</li><li>second</li></ul><pre>a
  b</pre><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table><noscript>no</noscript></body></html>`

func TestFormats(t *testing.T) {
	w := newWorld(t, page(article)).open()
	url := w.at("docs.example", "/page")
	base := strings.TrimSuffix(url, "/page")
	for format, want := range map[string]string{
		"markdown": "# Head & tail\n\nOne **bold** line, [a link](" + base +
			"/next?a=1).\n\n- first\n- second\n\n```\na\n  b\n```\n\n| k | v |\n|---|---|\n| 1 | 2 |",
		"text": "The title\n\nHead & tail\n\nOne bold line, a link.\n\nfirst\n\nsecond\n\na\n  b\n\nk\tv\n\n1\t2",
		"html": article,
	} {
		s := w.run("webfetch", map[string]any{"url": url, "format": format})
		if text(s) != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, text(s), want)
		}
		if s.Output.Title != url+" (text/html)" {
			t.Errorf("title %q", s.Output.Title)
		}
	}
	if s := w.fetch(url); !strings.HasPrefix(text(s), "# Head & tail") {
		t.Error("markdown is not the default")
	}
}

func TestContentTypes(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 40)
	for _, tt := range []struct{ mime, body, want string }{
		{"text/plain", "<b>as it is</b>", "<b>as it is</b>"},
		{"application/json", `{"a":1}`, `{"a":1}`},
		{"application/vnd.api+json; charset=utf-8", `{"a":1}`, `{"a":1}`},
		{"TEXT/HTML", "<p>x</p>", "x"},
		{"", "<html><p>sniffed</p></html>", "sniffed"},
		{"application/octet-stream", "plain words", "plain words"},
		{"text/html; charset=iso-8859-1", "<p>caf\xe9</p>", "café"},
		{"text/html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2</p>", "Привет"},
		{"text/plain; charset=utf-16le", "h\x00i\x00", "hi"},
		{"text/plain; charset=shift_jis", "\x93\xfa\x96\x7b", "日本"},
		{"text/plain; charset=nonsense", "abc", "abc"},
		{"text/plain; charset=utf-8", "bad \xff byte", "bad \uFFFD byte"},
		{"text/html", "", ""},
		{"image/png", png, "Fetched as an attachment: image/png|image/png"},
		{"text/html", png, "Fetched as an attachment: image/png|image/png"},
		{"application/pdf", "%PDF-1.7 …", "Fetched as an attachment: application/pdf|application/pdf"},
		{"image/svg+xml", "<svg/>", "<svg/>"},
		{"application/zip", "PK\x03\x04", "ERROR"},
		{"text/plain", "a\x00b", "ERROR"},
		{"video/mp4", "....", "ERROR"},
	} {
		w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header()["Content-Type"] = []string{tt.mime}
			if tt.mime == "" {
				rw.Header()["Content-Type"] = nil
			}
			_, _ = io.WriteString(rw, tt.body)
		}).open()
		got := text(w.fetch(w.at("a.example", "/f")))
		if got != tt.want && (tt.want != "ERROR" || !strings.HasPrefix(got, "ERROR")) {
			t.Errorf("%s %q: %q, want %q", tt.mime, tt.body, got, tt.want)
		}
	}
}

func TestStatuses(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gate" {
			if !strings.Contains(r.UserAgent(), "Mozilla") {
				_, _ = io.WriteString(rw, "let in as "+r.UserAgent())
				return
			}
			rw.Header().Set("Cf-Mitigated", "challenge")
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		rw.WriteHeader(http.StatusTeapot)
	}).open()
	if s := w.fetch(w.at("a.example", "/")); !strings.Contains(text(s), "status 418") {
		t.Error(text(s))
	}
	if s := w.fetch(w.at("a.example", "/gate")); text(s) != "let in as cairn" {
		t.Error(text(s))
	}
	if s := w.fetch("http://unknown.example/"); !strings.Contains(
		text(s), "unknown.example could not be resolved: no such host",
	) {
		t.Error(text(s))
	}
}

func TestRequestsCarryNoCredentials(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	var got http.Header
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		rw.Header().Set("Set-Cookie", "a=b; Path=/")
		if r.URL.Path == "/" {
			http.Redirect(rw, r, "/next", http.StatusFound)
		}
	}).open()
	if s := w.fetch(w.at("a.example", "/")); s.Error != nil {
		t.Fatal(text(s))
	}
	for _, name := range []string{"Cookie", "Authorization", "Referer", "X-Forwarded-For"} {
		if got.Get(name) != "" {
			t.Errorf("%s: %s was sent", name, got.Get(name))
		}
	}
}

func TestLargeResponses(t *testing.T) {
	block, zeros := strings.Repeat("x", 1<<16), make([]byte, 1<<20) // made once: the server counts, too, and runs ahead
	for name, h := range map[string]http.HandlerFunc{
		"announced": func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Content-Length", "99999999") },
		"endless": func(rw http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(rw, block); err != nil {
					return
				}
			}
		},
		"bomb": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			for range 300 {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
			_ = z.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, h).open()
			url := w.at("a.example", "/")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := w.fetch(url)
			runtime.ReadMemStats(&after)
			if !strings.Contains(text(s), "larger than 5 MiB") {
				t.Error(text(s))
			}
			if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 64 {
				t.Errorf("%d MiB were taken", grown)
			}
		})
	}
}

func TestManyHeaders(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		for i := range 2000 {
			rw.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("h", 100))
		}
	}).open()
	if s := w.fetch(w.at("a.example", "/")); s.Error == nil {
		t.Error("any number of headers is taken")
	}
}

// A server that sends slowly and without end fails after the timeout, and at once when the turn is interrupted.
func TestSlowServers(t *testing.T) {
	drip := func(rw http.ResponseWriter, r *http.Request) {
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for r.Context().Err() == nil {
			_, _ = io.WriteString(rw, "x")
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-r.Context().Done():
			case <-pace.C:
			}
		}
	}
	w := newWorld(t, drip).open()
	url := w.at("a.example", "/")
	s := w.run("webfetch", map[string]any{"url": url, "timeout": 0.2})
	if !strings.Contains(text(s), "did not answer in full within 200ms") || s.Error.Reason != session.ReasonTool {
		t.Error(text(s))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{})
	w = newWorld(t, func(rw http.ResponseWriter, r *http.Request) { close(started); drip(rw, r) }).open()
	go func() { <-started; cancel(errors.New("stop")) }()
	if s := w.runFor(ctx, "webfetch", map[string]any{"url": w.at("a.example", "/")}); s.Error == nil ||
		s.Error.Reason != session.ReasonAborted {
		t.Error(text(s))
	}
}

func TestHostilePages(t *testing.T) {
	for name, body := range map[string]string{
		"deep":       strings.Repeat("<div>", 30000) + "words",
		"formatting": strings.Repeat("<b><i><a>", 20000) + "words",
		"tables":     strings.Repeat("<table><tr><td>", 20000) + "words",
		"attributes": "<p " + strings.Repeat("a=b ", 30000) + ">words",
		"wide":       strings.Repeat("<p>x", 30000) + "words",
		"links":      strings.Repeat("<a href='http://a/[(<'>x</a>", 20000) + "words",
		"unclosed":   "<script>" + strings.Repeat("<!--", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, page(body)).open()
			url := w.at("a.example", "/")
			for _, format := range []string{"markdown", "text"} {
				start := time.Now()
				s := w.run("webfetch", map[string]any{"url": url, "format": format, "timeout": 100})
				if s.Error != nil || (name != "unclosed" && !strings.Contains(text(s), "words")) {
					t.Errorf("%s: %.200s", format, text(s))
				}
				t.Log(format, time.Since(start))
			}
		})
	}
}
