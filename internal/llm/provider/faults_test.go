package provider_test

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func call(index int, id, args string) string {
	return fmt.Sprintf(
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,`+
			`"function":{"name":"f","arguments":%q}}]}}]}`+"\n\n",
		index, id, args,
	)
}

const callsDone = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"

// say answers 200 with the given stream.
func say(body ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, b := range body {
			io.WriteString(w, b)
		}
	}
}

// refuse answers with a status, a body and headers.
func refuse(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// reset sends the text and then resets the TCP connection.
func reset(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, body)
		controller := http.NewResponseController(w)
		if body != "" {
			controller.Flush()
		}
		conn, _, err := controller.Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		conn.Close()
	}
}

func zipped(write func(io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		write(z)
		z.Close()
	}
}

// endless writes s repeatedly until the client disconnects, at most n bytes.
func endless(w io.Writer, s string, n int) {
	for ; n > 0; n -= len(s) {
		if _, err := io.WriteString(w, s); err != nil {
			return
		}
	}
}

// TestVendorFaults plays provider faults over TCP. Each turn ends by itself with the class of the fault, and a failed turn
// never emits a call.
func TestVendorFaults(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	final := func(o turn) bool { return !o.err.IsRetryable() }
	tests := []struct {
		name    string
		handler http.HandlerFunc
		class   llm.Class // empty: the turn ends well
		check   func(turn) bool
	}{
		{"500", refuse(500, `{"error":{"message":"oops"}}`), llm.Overloaded, nil},
		{"503", refuse(503, ""), llm.Overloaded, nil},
		{
			"429", refuse(429, `{"error":{"message":"slow down"}}`, "Retry-After", "1"), llm.RateLimit,
			func(o turn) bool { return o.err.RetryAfter == time.Second },
		},
		{
			"429 for an hour", refuse(429, "", "Retry-After", "3600"), llm.RateLimit,
			func(o turn) bool { return o.err.RetryAfter == time.Hour },
		},
		{
			"429 with an odd date", refuse(429, "", "Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT"), llm.RateLimit,
			func(o turn) bool { return o.err.RetryAfter == 0 },
		},
		{
			"429 quota", refuse(429, `{"error":{"code":"insufficient_quota","message":"pay"}}`), llm.Quota,
			func(o turn) bool { return !o.err.IsRetryable() },
		},
		{"400", refuse(400, `{"error":{"message":"bad field"}}`), llm.InvalidRequest, nil},
		{"400 overflow", refuse(400, `{"error":{"code":"context_length_exceeded","message":"too long"}}`), llm.Overflow, nil},
		{
			"401 that repeats the key",
			refuse(401, `{"error":{"message":"wrong key `+secret+`"},"api_key":"`+secret+`"}`, "X-Request-Id", "r1"), llm.Auth,
			func(o turn) bool { return o.err.Status == 401 && o.err.RequestID == "r1" },
		},
		{"403", refuse(403, ""), llm.Auth, nil},
		{
			"404", refuse(404, "404 page not found"), llm.InvalidRequest,
			func(o turn) bool { return strings.Contains(o.err.Message, "(at http://127.0.0.1:") },
		},
		{"connection reset at once", reset(""), llm.Transport, nil},
		{"connection reset in the middle", reset(hello), llm.Transport, func(o turn) bool { return o.text == "hello" }},
		{"cut without a finish", say(hello), llm.Incomplete, func(o turn) bool { return o.text == "hello" }},
		{"cut after complete arguments", say(call(0, "a", "{}")), llm.Incomplete, nil},
		{"cut inside arguments", say(call(0, "a", `{"x`)), llm.Incomplete, nil},
		{"cut inside a frame", say(hello, stop[:len(stop)-10]), llm.Incomplete, nil},
		{
			"malformed tool JSON", say(call(0, "a", `{"x`), callsDone, done), "",
			func(o turn) bool { return len(o.calls) == 1 && o.calls[0].Invalid != "" },
		},
		{"malformed frame", say(hello, "data: {\"choices\":[\n\n"), llm.Malformed, nil},
		{
			"error in the stream", say(hello, `data: {"error":{"message":"boom","type":"server_error"}}`+"\n\n"), llm.Overloaded,
			nil,
		},
		{
			"error in the stream that repeats the key",
			say(hello, `data: {"error":{"message":"wrong key `+secret+`","code":"invalid_api_key"}}`+"\n\n"), llm.Auth,
			func(o turn) bool {
				return o.err.Message == "wrong key [redacted]"
			},
		},
		{
			"error body that repeats the key",
			refuse(200, `{"error":{"message":"`+secret+` is unknown","type":"authentication_error"}}`), llm.Auth, nil,
		},
		{"malformed frame that repeats the key", say(hello, `data: {"choices":"`+secret+"\n\n"), llm.Malformed, nil},
		{"200 with an error body", refuse(200, `{"error":{"message":"no","type":"rate_limit_error"}}`), llm.RateLimit, nil},
		{"wrong shape", refuse(200, `{"choices":{"a":1}}`), llm.Malformed, nil},
		{"JSON of something else", refuse(200, `{"status":"ok"}`), llm.Incomplete, nil},
		{"empty 200", say(), llm.Empty, nil},
		{"204", refuse(204, ""), llm.Empty, nil},
		{"no content", say(stop, done), llm.Empty, nil},
		{"web page", refuse(200, "<!DOCTYPE html><title>Log in</title>", "Content-Type", "text/html"), llm.Malformed, nil},
		{
			"32 MiB in one delta",
			say(`data: {"choices":[{"index":0,"delta":{"content":"`, strings.Repeat(big, 32), `"}}]}`+"\n\n", stop),
			llm.Malformed, final,
		},
		{
			"a line of 100 MB", func(w http.ResponseWriter, _ *http.Request) { endless(w, "data: "+big, 100<<20) },
			llm.Malformed, final,
		},
		{"an answer without end", func(w http.ResponseWriter, _ *http.Request) {
			endless(w, strings.Repeat(": heartbeat\n\n", 5000), 1<<30)
		}, llm.Malformed, final},
		{
			"duplicate call ids", say(call(0, "a", "{}"), call(1, "a", "{}"), callsDone), "",
			func(o turn) bool { return len(o.calls) == 2 && o.calls[0].ID != o.calls[1].ID },
		},
		{
			"10k calls", func(w http.ResponseWriter, _ *http.Request) {
				for i := range 10000 {
					io.WriteString(w, call(i, fmt.Sprint("i", i), "{}"))
				}
				io.WriteString(w, callsDone)
			}, llm.Malformed, nil,
		},
		{
			"interleaved calls",
			say(
				call(0, "a", `{"x":`), call(1, "b", `{"y":`),
				`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},`+
					`{"index":1,"function":{"arguments":"2}"}}]}}]}`+"\n\n",
				callsDone,
			), "",
			func(o turn) bool {
				return string(o.calls[0].Input) == `{"x":1}` && string(o.calls[1].Input) == `{"y":2}`
			},
		},
		{
			"characters split over frames",
			say(
				`data: {"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}`+"\n\n"+
					`data: {"choices":[{"index":0,"delta":{"content":"\ude00"}}]}`+"\n\n",
				stop,
			), "",
			func(o turn) bool { return o.text == "😀" },
		},
		{"CRLF", say(strings.ReplaceAll(hello+stop+done, "\n", "\r\n")), "", nil},
		{"CR", say(strings.ReplaceAll(hello+stop+done, "\n", "\r")), "", nil},
		{"wrong content type", refuse(200, hello+stop+done, "Content-Type", "application/json"), "", nil},
		{"finish, then more", say(hello, stop, hello, stop, done), "", func(o turn) bool { return o.text == "hellohello" }},
		{
			"usage out of range",
			say(hello, stop, `data: {"choices":[],"usage":{"prompt_tokens":-4,"completion_tokens":1e99}}`+"\n\n"), "",
			func(o turn) bool { return o.finish.Usage.Input == 0 && o.finish.Usage.Output == 0 },
		},
		{
			"gzip though not asked for", zipped(func(w io.Writer) { io.WriteString(w, hello+stop+done) }), "",
			func(o turn) bool { return o.text == "hello" },
		},
		{"gzip bomb", zipped(func(w io.Writer) { endless(w, big, 80<<20) }), llm.Malformed, final},
		{
			"gzip bomb of heartbeats",
			zipped(func(w io.Writer) { endless(w, strings.Repeat(":"+strings.Repeat("z", 200)+"\n\n", 1<<12), 80<<20) }),
			llm.Malformed, final,
		},
		{"gzip that is not gzip", refuse(200, hello+stop, "Content-Encoding", "gzip"), llm.Malformed, final},
		{"empty gzip", refuse(200, "", "Content-Encoding", "gzip"), llm.Empty, nil},
		{"brotli", refuse(200, "xxx", "Content-Encoding", "br"), llm.Malformed, final},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := stream(t.Context(), model(t, serve(t, tt.handler).URL), request())
			switch {
			case tt.class == "" && (out.err != nil || out.finish == nil):
				t.Fatalf("got %+v", out)
			case tt.class != "" && (out.err == nil || out.err.Class != tt.class || out.finish != nil || len(out.calls) > 0):
				t.Fatalf("got %+v, error %v", out, out.err)
			case tt.check != nil && !tt.check(out):
				t.Fatalf("got %+v, error %+v", out, out.err)
			case out.err != nil && strings.Contains(fmt.Sprintf("%+v %v", *out.err, out.err), secret):
				t.Fatalf("the error contains the key: %+v", out.err)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got %s with %v", r.URL, r.Header)
	})
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint("elsewhere ", status), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/steal?x=1", status) })
			out := stream(t.Context(), model(t, s.URL), request())
			if out.err == nil || out.err.Class != llm.InvalidRequest || !strings.Contains(out.err.Message, other.URL) ||
				strings.Contains(out.err.Message, "steal") {
				t.Errorf("got %v", out.err)
			}
		})
	}
	t.Run("same host keeps method, body and key", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case r.URL.Path == "/v1/chat/completions":
				http.Redirect(w, r, "/v2/chat", http.StatusTemporaryRedirect)
			case r.Method == "POST" && len(body) > 0 && r.Header.Get("Authorization") == "Bearer "+secret:
				io.WriteString(w, hello+stop+done)
			}
		})
		if out := stream(t.Context(), model(t, s.URL), request()); out.err != nil || out.text != "hello" {
			t.Errorf("got %+v", out)
		}
	})
	for name, to := range map[string]struct {
		status int
		target string
	}{
		"same host with another method":  {http.StatusSeeOther, "https://own.test/v2/chat"},
		"same host with another scheme":  {http.StatusTemporaryRedirect, "http://own.test/v2/chat"},
		"same host name on another port": {http.StatusTemporaryRedirect, "https://own.test:8443/v2/chat"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			m := through(t, func(*http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: to.status, Header: http.Header{"Location": {to.target}}, Body: http.NoBody}, nil
			}, nil)
			if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.InvalidRequest || sent != 1 {
				t.Errorf("got %v after %d requests", out.err, sent)
			}
		})
	}
	t.Run("in a circle", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		})
		if out := stream(t.Context(), model(t, s.URL), request()); out.err == nil || out.err.Class != llm.InvalidRequest {
			t.Errorf("got %+v", out)
		}
	})
}

// TestErrorBodyIsBounded: only the beginning of an error's body is read.
func TestErrorBodyIsBounded(t *testing.T) {
	body := &measured{left: 100 << 20}
	out := stream(t.Context(), through(t, func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 400, Body: body}, nil
	}, nil), request())
	if out.err == nil || out.err.Class != llm.InvalidRequest || body.read > 1<<20 {
		t.Errorf("got %v after %d bytes", out.err, body.read)
	}
}

// measured is a body of that many letters.
type measured struct{ left, read int }

func (c *measured) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat("x", min(len(p), c.left)))
	c.left, c.read = c.left-n, c.read+n
	if c.left == 0 {
		return n, io.EOF
	}
	return n, nil
}

func (c *measured) Close() error { return nil }

func TestUnreachable(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = nil
	defer untrusted.Close()
	plain := serve(t, http.NotFound)
	tests := []struct {
		name, url string
		final     bool
		want      string
	}{
		{"no server", closed.URL, true, "connection refused"},
		{
			"untrusted certificate", untrusted.URL, true,
			"certificate is not trusted: x509: certificate signed by unknown authority; to trust it, " +
				"set NODE_EXTRA_CA_CERTS to a PEM file",
		},
		{
			"https to an http server", strings.Replace(plain.URL, "http:", "https:", 1), true,
			"the server speaks http, not https; change the base URL (options.baseURL)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := stream(t.Context(), model(t, tt.url), request())
			if out.err == nil || out.err.Class != llm.Transport || out.err.Permanent != tt.final ||
				!strings.Contains(out.err.Message, tt.want) {
				t.Errorf("got %v", out.err)
			}
		})
	}
}

// TestCertificates: certificate errors name the next step and are permanent.
func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	for want, c := range map[string]*tls.Config{
		"not elsewhere.test; change the base URL (options.baseURL)": {RootCAs: roots, ServerName: "elsewhere.test"},
		"has expired or is not yet valid by this computer's clock": {
			RootCAs: roots, Time: func() time.Time { return s.Certificate().NotAfter.Add(time.Hour) },
		},
		"NODE_EXTRA_CA_CERTS": {},
	} {
		m, err := provider.New(provider.Config{
			Vendor: provider.NewCompatible("test", "Test", s.URL), Key: secret, Transport: &http.Transport{TLSClientConfig: c},
		})
		if err != nil {
			t.Fatal(err)
		}
		if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.Transport ||
			out.err.IsRetryable() || !strings.Contains(out.err.Message, want) {
			t.Errorf("want %s, got %v", want, out.err)
		}
	}
}

// TestHandshakeFailures: a refused handshake is permanent; an interrupted one is retryable.
func TestHandshakeFailures(t *testing.T) {
	modern, old := uint16(tls.VersionTLS12), uint16(tls.VersionTLS11)
	tests := []struct {
		name  string
		tls   *tls.Config
		final bool
		want  string
	}{
		{
			"client certificate", &tls.Config{ClientAuth: tls.RequireAnyClientCert}, true,
			"requires a client certificate, which cairn does not support",
		},
		{
			"client certificate, TLS 1.2", &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: modern}, true,
			"requires a client certificate",
		},
		{
			"old version", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: old}, true,
			"enable TLS 1.2 or 1.3 at the server, or change the base URL (options.baseURL)",
		},
		{
			"old ciphers", &tls.Config{MaxVersion: modern, CipherSuites: []uint16{tls.TLS_RSA_WITH_RC4_128_SHA}}, true,
			"have no cipher in common",
		},
		{
			"server failure",
			&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return nil, io.ErrUnexpectedEOF }},
			false, "internal error",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.TLS, s.Config.ErrorLog = tt.tls, slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			s.StartTLS()
			defer s.Close()
			roots := x509.NewCertPool()
			roots.AddCert(s.Certificate())
			m, err := provider.New(provider.Config{
				Vendor: provider.NewCompatible("test", "Test", s.URL), Key: secret,
				Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
			})
			if err != nil {
				t.Fatal(err)
			}
			out := stream(t.Context(), m, request())
			if out.err == nil || out.err.Class != llm.Transport || out.err.Permanent != tt.final ||
				!strings.Contains(out.err.Message, tt.want) {
				t.Errorf("got %+v", out.err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through returns a Model for https://own.test/v1?token=… that sends through f, with additional headers.
func through(tb testing.TB, f roundTrip, headers map[string]string) *provider.Model {
	tb.Helper()
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", "https://own.test/v1?token="+secret), Key: secret, Headers: headers,
		Transport: f,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestErrorsHideSecrets: errors contain neither secret headers, nor the secrets of declared tools, nor the URL.
func TestErrorsHideSecrets(t *testing.T) {
	const other = "opaque-value-of-a-header"
	headers := map[string]string{"X-Gateway-Token": other, "Proxy-Authorization": "Basic " + other + "-2"}
	for name, f := range map[string]roundTrip{
		"headers": func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 400, Body: io.NopCloser(strings.NewReader("not " + other + ", not " + other + "-2")),
			}, nil
		},
		"declared tools": func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 424, Body: io.NopCloser(strings.NewReader("the server refuses way-into-it and way-into-that")),
			}, nil
		},
		"URL": func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") },
	} {
		t.Run(name, func(t *testing.T) {
			req := request()
			req.Tools = append(
				req.Tools,
				llm.ToolDefinition{
					Name: "mcp",
					Hosted: jsontext.Value(
						`{"type":"mcp","authorization":"way-into-it","headers":{"X-Api-Key":"Bearer way-into-that"}}`,
					),
				},
			)
			out := stream(t.Context(), through(t, f, headers), req)
			if out.err == nil || strings.Contains(out.err.Message+out.err.Body, "way-into") ||
				strings.Contains(out.err.Message+out.err.Body, other) || strings.Contains(out.err.Message+out.err.Body, secret) {
				t.Errorf("got %+v", out.err)
			}
		})
	}
}

func TestUnknownHost(t *testing.T) {
	m := through(t, func(*http.Request) (*http.Response, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "own.test", IsNotFound: true}
	}, nil)
	out := stream(t.Context(), m, request())
	if out.err == nil || out.err.Class != llm.Transport || out.err.IsRetryable() ||
		out.err.Message != "cannot reach own.test: the host name own.test cannot be resolved" {
		t.Errorf("got %v", out.err)
	}
}

// TestHTTP2GoingAway: an HTTP/2 server breaks the stream during the answer.
func TestHTTP2GoingAway(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		io.WriteString(w, hello)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	m, err := provider.New(provider.Config{
		Vendor: provider.NewCompatible("test", "Test", s.URL), Key: secret, Transport: s.Client().Transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	if out := stream(t.Context(), m, request()); out.err == nil || out.err.Class != llm.Transport || out.text != "hello" {
		t.Errorf("got %+v, error %v", out, out.err)
	}
}
