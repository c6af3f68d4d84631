package provider_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

// streamFailure returns the error of a request to a model.
func streamFailure(t *testing.T, c provider.Config) *llm.Error {
	t.Helper()
	m, err := provider.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &llm.Request{Model: "m"}) {
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return e
		}
	}
	t.Fatal("the request did not fail")
	return nil
}

// TestAdviceOfFailures: a rejected key of a file is named with the file, and an unknown model with what lists them.
func TestAdviceOfFailures(t *testing.T) {
	t.Parallel()
	for status, tt := range map[int]struct{ body, want string }{
		401: {`{"error":{"message":"wrong key"}}`, "; change the key in cairn.json:3"},
		404: {`{"error":{"message":"The model m does not exist"}}`, "; cairn models lists the models"},
	} {
		server := httptest.NewServer(refuse(status, tt.body))
		t.Cleanup(server.Close)
		e := streamFailure(t, provider.Config{
			Vendor: provider.NewCompatible("test", "Test", server.URL), Key: secret, KeyAdvice: "; change the key in cairn.json:3",
		})
		if !strings.Contains(e.Message, tt.want) {
			t.Errorf("%d: got %q, want %q in it", status, e.Message, tt.want)
		}
	}
}

// TestAbsentProxy: a proxy on this machine that does not listen is not tried again, like a server.
func TestAbsentProxy(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	for _, base := range []string{"http://example.test/v1", "https://example.test/v1"} {
		transport := provider.NewTransport()
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: address})
		t.Cleanup(transport.CloseIdleConnections)
		e := streamFailure(t, provider.Config{
			Vendor: provider.NewCompatible("test", "Test", base), Key: secret, Transport: transport,
		})
		if e.IsRetryable() {
			t.Errorf("%s through a proxy that is not there: %v is tried again", base, e)
		}
	}
}
