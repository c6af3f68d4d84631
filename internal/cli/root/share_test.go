package root_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestImportOfShare: a share is fetched by https from a host that is allowed, and never from a network of one's own
// that a name leads to.
func TestImportOfShare(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	var asked atomic.Int64
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/api/share/abc/data" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(
			w,
			`[{"type":"part","data":{"id":"prt_1fe003fe5001yfX1fIWlk2xl5P","sessionID":"ses_e01ffc867ffeXdojPkzpHag281","messageID":"msg_1fe003fe5001yfX1fIWlk2xl5P","type":"text","text":"shared words"}},
			{"type":"message","data":{"id":"msg_1fe003fe5001yfX1fIWlk2xl5P","sessionID":"ses_e01ffc867ffeXdojPkzpHag281","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"p","modelID":"m"}}},
			{"type":"session","data":{"id":"ses_e01ffc867ffeXdojPkzpHag281","slug":"a","version":"1.18.33","projectID":"x","directory":"/elsewhere","title":"Shared","time":{"created":1,"updated":2}}}]`,
		)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "https://")
	home, err := os.MkdirTemp("", "cairn") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	roots := filepath.Join(home, "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	cairn := func(args ...string) string {
		cmd := exec.Command("cairn", args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(
			os.Environ(),
			"CAIRN_HOME="+home,
			"HOME="+home,
			"SSL_CERT_FILE="+roots,
			"GORACE="+quick,
			"CAIRN_DISABLE_KEYRING=1",
		)
		out, _ := cmd.CombinedOutput() // says what went wrong
		return string(out)
	}
	_, port, _ := strings.Cut(host, ":")
	for address, want := range map[string]string{
		server.URL + "/share/abc":                      "--allow-host=" + host,
		"https://localhost:" + port + "/share/abc":     "only public addresses",
		"https://[::ffff:7f00:1]:" + port + "/share/a": "are not fetched",
	} {
		if out := cairn("import", address, "--allow-host", "localhost:"+port); !strings.Contains(out, want) ||
			asked.Load() > 0 {
			t.Errorf("%s: %s (asked %d times)", address, out, asked.Load())
		}
	}
	if out := cairn("import", server.URL+"/share/abc", "--allow-host", host); !strings.Contains(
		out,
		"Imported session: ses_e01ffc867ffeXdojPkzpHag281",
	) {
		t.Error(out)
	}
	if out := cairn("session", "show", "ses_e01ffc867ffeXdojPkzpHag281"); !strings.Contains(out, "shared words") {
		t.Error(out)
	}
	if out := cairn("import", server.URL+"/share/nope", "--allow-host", host); !strings.Contains(out, "nope") ||
		strings.Contains(out, "Imported") {
		t.Error(out)
	}
}
