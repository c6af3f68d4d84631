package wellknown

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/auth"
)

func TestElsewhere(t *testing.T) {
	long := strings.Repeat("x", maxHeader+1)
	for _, tt := range []struct{ address, remote, want string }{
		{"https://a.org", `{"url": "https://A.org/x?y=z"}`, "near https://A.org/x"},
		{"https://a.org/team", `{"url": "https://a.org/x"}`, "near https://a.org/x"},
		{
			"https://a.org", `{"url": "https://a.org:444/x", "headers": {"b": "{env:T}", "a": "B {env:T}", "c": "{env:U}"}}`,
			"far https://a.org:444/x A B",
		},
		{"https://a.org", `{"url": "https://b.org"}`, "far https://b.org"},
		{"http://localhost:1", `{"url": "http://127.0.0.1:2/x"}`, "far local http://127.0.0.1:2/x"},
		{"https://a.org", `null`, ""},
		{"https://a.org", `{"url": "http://a.org/x"}`, "https only"},
		{"https://a.org", `{"url": "http://localhost/x"}`, "https only"},
		{"https://a.org", `{"url": "file:///etc/passwd"}`, "not an address"},
		{"https://a.org", `{"url": "ftp://a.org/x"}`, "https only"},
		{"https://a.org", `{"url": "/x"}`, "not an address"},
		{"https://a.org", `{"url": "https://u:p@a.org/x"}`, "no user"},
		{"https://a.org", `{"url": "https://a.org/#x"}`, "no user"},
		{"https://a.org", `{"url": "https://a.org/?t={env:T}"}`, "no user"},
		{"https://a.org", `{"url": ""}`, "must be an object with a url"},
		{"https://a.org", `{}`, "must be an object with a url"},
		{"https://a.org", `"https://a.org"`, "must be an object with a url"},
		{"https://a.org", `{"url": "https://a.org", "headers": {"a": 1}}`, "headers that are strings"},
		{"https://a.org", `{"url": "https://a.org", "headers": {"host": "b.org"}}`, "must not set the header"},
		{"https://a.org", `{"url": "https://a.org", "headers": {"a": "` + long + `"}}`, "longer than"},
	} {
		d, err := Parse([]byte(`{"auth": {"env": "T"}, "remote_config": ` + tt.remote + `}`))
		if err != nil {
			t.Fatalf("%s: %v: a mistake in it must not cost the rest", tt.remote, err)
		}
		e, err := d.RemoteConfig(tt.address)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case e != nil:
			got = strings.TrimSpace(map[bool]string{true: "near ", false: "far "}[e.SameOrigin] +
				map[bool]string{true: "local "}[e.Local] + e.Source() + " " + strings.Join(e.TokenHeaders(), " "))
		}
		if got != tt.want && (err == nil || !strings.Contains(got, tt.want) || tt.want == "") {
			t.Errorf("%s %.80s: %q, want %q", tt.address, tt.remote, got, tt.want)
		}
	}
}

// Only what is a JSON object is kept; a redirection, which would take the token along, is not followed; and neither
// errors nor names of files hold the token or the query.
func TestElsewhereIsFetched(t *testing.T) {
	status, body, asked := 200, `{"model": "a/b"}`, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") != "Bearer sk-1" || r.Header.Get("X-Plain") != "{env:HOME}" {
			t.Errorf("asked with %v", r.Header)
		}
		w.Header().Set("Location", "/else")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may have gone
	}))
	defer s.Close()
	c := Cache{t.TempDir() + "/x"}
	if err := c.Put(s.URL, []byte(`{"auth": {"env": "T"}, "remote_config": {"url": "`+s.URL+`/c?q=hidden", "headers": `+
		`{"authorization": "Bearer {env:T}", "X-Plain": "{env:HOME}"}}}`)); err != nil {
		t.Fatal(err)
	}
	e, err := c.RemoteConfig(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RefreshRemoteConfig(t.Context(), e, auth.NewSecret("sk-1"), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{200, `[]`, "is not a configuration"},
		{200, `{"a": `, "is not a configuration"},
		{302, `{}`, "302"},
		{200, `{"a": "` + strings.Repeat("x", MaxDocument) + `"}`, "longer than"},
	} {
		status, body, asked = tt.status, tt.body, 0
		err := c.RefreshRemoteConfig(t.Context(), e, auth.NewSecret("sk-1"), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "sk-1") ||
			strings.Contains(err.Error(), "hidden") || asked != 1 {
			t.Errorf("%.20s: %v, asked %d times", tt.body, err, asked)
		}
	}
	if raw, err := os.ReadFile(c.RemoteConfigFile(e)); err != nil || string(raw) != `{"model": "a/b"}` {
		t.Errorf("what was kept is lost: %s %v", raw, err)
	}
	if err := c.Remove(s.URL); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(c.Dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
