package provider_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/provider"
)

func TestExtraRoots(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, hello+stop+done) }))
	defer s.Close()
	dir := t.TempDir()
	good := write(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	for _, tt := range []struct{ file, want string }{
		{good, ""},
		{"", "not trusted"},
		{write(t, dir, "empty.pem", "x"), "holds no certificate"},
		{dir, "no file of certificates"},
		{dir + "/none", "no such file"},
	} {
		t.Setenv("NODE_EXTRA_CA_CERTS", tt.file)
		out := stream(t.Context(), model(t, s.URL), request())
		err := provider.ExtraRoots()
		switch {
		case tt.want == "":
			if out.err != nil || err != nil {
				t.Errorf("%s: %v %v", tt.file, out.err, err)
			}
		case out.err == nil || out.err.Class != llm.Transport:
			t.Errorf("%s: %+v", tt.file, out)
		case err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && !strings.Contains(out.err.Message, tt.want):
			t.Errorf("%s: %v, %v", tt.file, err, out.err)
		}
	}
}

func TestCopilotsWires(t *testing.T) {
	v, _ := provider.Find("github-copilot")
	for id, want := range map[string]provider.Wire{"gpt-5.1": provider.Responses, "gpt-5-mini": provider.Chat, "claude-sonnet-4.5": provider.Chat} {
		if got, ok := v.WireFor("@ai-sdk/openai-compatible", id); got != want || !ok {
			t.Errorf("%s: %q", id, got)
		}
	}
}
