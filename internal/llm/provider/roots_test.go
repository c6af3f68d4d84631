package provider_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestExtraRoots(t *testing.T) {
	s := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hello+stop+done) }),
	)
	defer s.Close()
	dir := t.TempDir()
	good := write(
		t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
	)
	for _, tt := range []struct{ file, want string }{
		{good, ""},
		{"", "not trusted"},
		{write(t, dir, "empty.pem", "x"), "contains no certificate"},
		{dir, "is not a certificate file"},
		{dir + "/none", "no such file"},
	} {
		t.Setenv("NODE_EXTRA_CA_CERTS", tt.file)
		out := stream(t.Context(), model(t, s.URL), request())
		err := provider.CheckExtraRoots()
		switch {
		case tt.want == "":
			if out.err != nil || err != nil {
				t.Errorf("%s: %v %v", tt.file, out.err, err)
			}
		case out.err == nil || out.err.Class != llm.Transport || out.err.IsRetryable():
			t.Errorf("%s: %+v", tt.file, out)
		case err != nil && !strings.Contains(err.Error(), tt.want) ||
			err == nil && !strings.Contains(out.err.Message, tt.want):
			t.Errorf("%s: %v, %v", tt.file, err, out.err)
		}
	}
}

// TestLazyTransport: the transport loads certificates with its first request, not when it is created.
func TestLazyTransport(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	t.Setenv("NODE_EXTRA_CA_CERTS", "")
	c := &http.Client{Transport: provider.NewLazyTransport()}
	c.CloseIdleConnections() // of none
	t.Setenv(
		"NODE_EXTRA_CA_CERTS",
		write(
			t, t.TempDir(), "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
		),
	)
	for range 2 {
		resp, err := c.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	c.CloseIdleConnections()
}

func TestCopilotWires(t *testing.T) {
	v, _ := provider.Find("github-copilot")
	for id, want := range map[string]provider.Wire{
		"gpt-5.1": provider.Responses, "gpt-5-mini": provider.Chat, "claude-sonnet-4.5": provider.Chat,
	} {
		if got, ok := v.SelectWire("@ai-sdk/openai-compatible", id); got != want || !ok {
			t.Errorf("%s: %q", id, got)
		}
	}
}

// TestCheckEnvironment: settings without effect are reported, without passwords in their values.
func TestCheckEnvironment(t *testing.T) {
	for _, name := range []string{
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY",
		"all_proxy",
	} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	for _, tt := range []struct{ name, value, want string }{
		{"SSL_CERT_FILE", dir + "/none", "no such file"},
		{"SSL_CERT_FILE", write(t, dir, "junk.pem", "x"), "contains no certificate"},
		{"HTTPS_PROXY", "http://user:hunter2@%zz", "HTTPS_PROXY is not a valid address"},
		{"http_proxy", "%zz", "http_proxy is not a valid address"},
		{"HTTP_PROXY", "proxy.example:3128", ""},
		{"HTTPS_PROXY", "socks5://proxy.example", ""},
		{"all_proxy", "socks://proxy.example:1080/", ""},
		{"ALL_PROXY", "socks4://user:hunter2@proxy.example", "ALL_PROXY is not a supported proxy"},
	} {
		t.Run(tt.name+tt.want, func(t *testing.T) {
			t.Setenv(tt.name, tt.value)
			got := provider.CheckEnvironment()
			switch {
			case tt.want == "" && len(got) == 0:
			case len(got) != 1 || !strings.Contains(got[0].Error(), tt.want) || strings.Contains(got[0].Error(), "hunter2"):
				t.Errorf("%v", got)
			}
		})
	}
}

// TestUnreachableProxy: the error names the proxy when the proxy is unreachable.
func TestUnreachableProxy(t *testing.T) {
	proxy, _ := url.Parse("http://user:hunter2@127.0.0.1:1")
	_, err := (&http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}).Get("https://example.org")
	if got := provider.DescribeUnreachable("example.org", err); got !=
		"cannot reach example.org: the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY does not answer: connection refused; "+
			"no server listens there" {
		t.Error(got)
	}
}
