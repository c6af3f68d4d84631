package provider_test

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// proxy is a real proxy on this machine that connects all hosts to one server, with an optional password.
type proxy struct {
	to       string
	password string
	status   int // instead of letting anybody through
	through  atomic.Int32
	last     atomic.Value // the host that was wanted
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+p.password))
	p.last.Store(r.Host)
	switch {
	case p.status != 0:
		w.WriteHeader(p.status)
	case p.password != "" && r.Header.Get("Proxy-Authorization") != want:
		w.WriteHeader(http.StatusProxyAuthRequired)
	case r.Method == http.MethodConnect:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		p.join(conn, conn)
	default:
		r.URL.Host, r.RequestURI = p.to, ""
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		p.through.Add(1)
		_, _ = io.Copy(w, resp.Body)
	}
}

// join copies between two connections until one of them ends.
func (p *proxy) join(conn net.Conn, from io.Reader) {
	p.through.Add(1)
	defer conn.Close()
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(up, from); _ = up.Close() })
	both.Go(func() { _, _ = io.Copy(conn, up); _ = conn.Close() })
	both.Wait()
}

// socks serves SOCKS 5 (RFC 1928, 1929).
func (p *proxy) socks(t *testing.T) string {
	t.Helper()
	return accepts(t, p.shake)
}

// accepts listens on a new address and passes each connection to serve, which closes it.
func accepts(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn) // ends with its connection
		}
	}()
	return l.Addr().String()
}

func (p *proxy) shake(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(r, b)
		return b
	}
	read(int(read(2)[1])) // the methods that are offered
	if p.password != "" {
		_, _ = conn.Write([]byte{5, 2})
		name := string(read(int(read(2)[1])))
		if secret := string(read(int(read(1)[0]))); name != "me" || secret != p.password {
			_, _ = conn.Write([]byte{1, 1})
			return
		}
		_, _ = conn.Write([]byte{1, 0})
	} else {
		_, _ = conn.Write([]byte{5, 0})
	}
	if head := read(4); head[3] != 3 {
		_, _ = conn.Write([]byte{5, 8, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	host := read(int(read(1)[0]))
	p.last.Store(fmt.Sprintf("%s:%d", host, binary.BigEndian.Uint16(read(2))))
	if p.status != 0 {
		_, _ = conn.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(conn, r)
}

// TestProxies connects to http and https servers through proxies of all kinds, named by the usual environment
// variables.
func TestProxies(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hello+stop+done) })
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	ca := write(t, t.TempDir(), "ca.pem", "garbage before\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"+
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))+"and behind")
	tests := []struct {
		name, variable, value, url string // PROXY, SOCKS: where it listens
		password                   string
		status                     int
		want                       string // of the error
		final, direct              bool
	}{
		{name: "to http", variable: "HTTP_PROXY", value: "http://PROXY", url: "http://example.com"},
		{name: "without a scheme", variable: "http_proxy", value: "PROXY", url: "http://example.com"},
		{name: "to https", variable: "HTTPS_PROXY", value: "http://PROXY", url: "https://example.com"},
		{name: "lower case", variable: "https_proxy", value: "http://PROXY/", url: "https://example.com"},
		{
			name: "of the other scheme", variable: "HTTP_PROXY", value: "http://PROXY", url: "https://example.invalid",
			want: "cannot be resolved", direct: true, final: true,
		},
		{name: "all, to http", variable: "ALL_PROXY", value: "http://PROXY", url: "http://example.com"},
		{name: "all, to https", variable: "all_proxy", value: "http://PROXY", url: "https://example.com"},
		{name: "SOCKS to http", variable: "ALL_PROXY", value: "socks5://SOCKS", url: "http://example.com"},
		{name: "SOCKS that resolves hosts", variable: "ALL_PROXY", value: "socks5h://SOCKS", url: "https://example.com"},
		{
			name: "SOCKS in the spelling of desktops", variable: "all_proxy", value: "socks://SOCKS/",
			url: "https://example.com",
		},
		{
			name: "SOCKS with a password", variable: "HTTPS_PROXY", value: "socks5://me:hunter2@SOCKS",
			url: "https://example.com", password: "hunter2",
		},
		{
			name: "SOCKS with a wrong password", variable: "HTTPS_PROXY", value: "socks5://me:hunter3@SOCKS",
			url: "https://example.com", password: "hunter2", want: "ALL_PROXY refuses the connection",
		},
		{
			name: "SOCKS refusal", variable: "ALL_PROXY", value: "socks5://SOCKS", url: "https://example.com", status: 1,
			want: "not allowed",
		},
		{
			name: "a password", variable: "HTTPS_PROXY", value: "http://me:hunter2@PROXY", url: "https://example.com",
			password: "hunter2",
		},
		{
			name: "a password, to http", variable: "HTTP_PROXY", value: "http://me:hunter2@PROXY", url: "http://example.com",
			password: "hunter2",
		},
		{
			name: "a wrong password", variable: "HTTPS_PROXY", value: "http://me:hunter3@PROXY", url: "https://example.com",
			password: "hunter2", want: "requires a valid user name and password", final: true,
		},
		{
			name: "a wrong password, to http", variable: "HTTP_PROXY", value: "http://me:hunter3@PROXY",
			url: "http://example.com", password: "hunter2", want: "requires a valid user name and password", final: true,
		},
		{
			name: "refused", variable: "HTTPS_PROXY", value: "http://me:hunter2@PROXY", url: "https://example.com", status: 403,
			want: "refuses the connection (HTTP 403)", final: true,
		},
		{
			name: "broken", variable: "HTTPS_PROXY", value: "http://me:hunter2@PROXY", url: "https://example.com", status: 502,
			want: "refuses the connection (HTTP 502)",
		},
		{
			name: "down", variable: "HTTPS_PROXY", value: "http://me:hunter2@127.0.0.1:1", url: "https://example.com",
			want: "no server listens there", final: true,
		},
		{
			name: "SOCKS down", variable: "ALL_PROXY", value: "socks5://me:hunter2@127.0.0.1:1", url: "https://example.com",
			want: "no server listens there", final: true,
		},
		{
			name: "unknown", variable: "ALL_PROXY", value: "socks4://me:hunter2@PROXY", url: "https://example.com",
			want: "not a supported proxy scheme",
		},
		{
			name: "not for loopback addresses", variable: "ALL_PROXY", value: "http://127.0.0.1:1", url: plain.URL, direct: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{
				"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy",
				"REQUEST_METHOD",
			} {
				t.Setenv(name, "")
			}
			p := &proxy{to: plain.Listener.Addr().String(), password: tt.password, status: tt.status}
			if strings.HasPrefix(tt.url, "https") {
				p.to = secure.Listener.Addr().String()
			}
			s := httptest.NewServer(p)
			defer s.Close()
			t.Setenv(
				tt.variable, strings.NewReplacer("PROXY", s.Listener.Addr().String(), "SOCKS", p.socks(t)).Replace(tt.value),
			)
			t.Setenv("NODE_EXTRA_CA_CERTS", ca)
			out := stream(t.Context(), model(t, tt.url), request())
			if tt.want == "" {
				if out.err != nil || out.text != "hello" || (p.through.Load() == 1) == tt.direct {
					t.Errorf("%+v, error %v, %d through the proxy", out, out.err, p.through.Load())
				}
				return
			}
			if out.err == nil || out.err.Class != llm.Transport || !strings.Contains(out.err.Message, tt.want) ||
				out.err.IsRetryable() == tt.final {
				t.Errorf("%+v", out.err)
			}
			if text := fmt.Sprintf("%+v %v %v", out.err, out.err, out.err.Unwrap()); strings.Contains(text, "hunter") {
				t.Errorf("the error contains the password: %s", text)
			}
			t.Setenv("NO_PROXY", "example.com,.invalid")
			if r, err := http.NewRequest(http.MethodGet, tt.url, nil); err == nil { //nolint:noctx // never sent
				if via, err := provider.ProxyFunc()(r); via != nil || err != nil {
					t.Errorf("NO_PROXY: %v %v", via, err)
				}
			}
		})
	}
}
