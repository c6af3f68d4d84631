package wellknown

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.org/": "https://example.org", " https://a.b/team/.well-known/opencode": "https://a.b/team",
		"http://127.0.0.1:9/": "http://127.0.0.1:9",
		"http://localhost":    "http://localhost", "http://[::1]:4": "http://[::1]:4",
		"http://example.org": "", "ftp://a": "", "a.b": "", "": "", "https://u:p@a": "", "https://a?x=y": "",
		"http://127.0.0.1.evil.org": "", "https://": "",
	} {
		got, err := NormalizeAddress(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("https://a/b")
	f.Add("http://localhost:1//")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := NormalizeAddress(text)
		if err != nil {
			return
		}
		if twice, err := NormalizeAddress(once); err != nil || twice != once {
			t.Errorf("%q is %q and then %q, %v", text, once, twice, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"auth":{"command":["x"],"env":"T"},"config":{"model":"a/b"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if d, err := Parse(raw); err == nil && d.Config != nil && d.Config.Kind() != '{' {
			t.Errorf("%s", d.Config)
		}
	})
}

func TestFetch(t *testing.T) {
	body, status, asked := `{"config":{}}`, 200, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != Path {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may have gone
	}))
	defer s.Close()
	raw, err := Fetch(t.Context(), s.URL, s.Client().Transport)
	if err != nil || string(raw) != body {
		t.Fatalf("%s, %v", raw, err)
	}
	for _, tt := range []struct {
		body, want string
		status     int
	}{
		{`<html>`, "not a configuration document", 200},
		{`{"config": 1}`, "not a configuration document", 200},
		{`[]`, "not a configuration document", 200},
		{`{}`, "302 Found", 302},
		{`{}`, "404", 404},
		{`{"a":"` + strings.Repeat("x", MaxDocument) + `"}`, "longer than", 200},
	} {
		body, status, asked = tt.body, tt.status, 0
		_, err := Fetch(t.Context(), s.URL, s.Client().Transport)
		if err == nil || !strings.Contains(err.Error(), tt.want) || asked != 1 {
			t.Errorf("%.20s: %v, asked %d times", tt.body, err, asked)
		}
	}
}

// An address that does not answer is not asked again at once, and what it said before stays.
func TestRefresh(t *testing.T) {
	status := 200
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"config":{}}`)) // the client may have gone
	}))
	defer s.Close()
	c := Cache{t.TempDir() + "/x"}
	if !c.IsDue(c.File(s.URL), time.Hour) {
		t.Error("was asked")
	}
	if err := c.Refresh(t.Context(), s.URL, nil); err != nil || c.IsDue(c.File(s.URL), time.Hour) ||
		!c.IsDue(c.File(s.URL), 0) {
		t.Errorf("got %v", err)
	}
	status = 500
	if err := c.Refresh(t.Context(), s.URL, nil); err == nil {
		t.Error("no error")
	}
	if raw, err := os.ReadFile(c.File(s.URL)); err != nil || string(raw) != `{"config":{}}` {
		t.Errorf("what was kept is lost: %s %v", raw, err)
	}
	other := "http://127.0.0.1:1"
	if err := c.Refresh(t.Context(), other, nil); err == nil || c.IsDue(c.File(other), time.Hour) {
		t.Errorf("asked at once again: %v", err)
	}
}

func TestCache(t *testing.T) {
	c := Cache{t.TempDir() + "/x"}
	if err := c.Put("https://a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(c.File("https://a"))
	if err != nil || first.Mode().Perm() != 0o600 {
		t.Fatal(err)
	}
	if err := c.Put("https://a", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(c.File("https://a")); err != nil || !os.SameFile(first, again) {
		t.Error("the same content was written again")
	}
	for range 2 {
		if err := c.Remove("https://a"); err != nil {
			t.Error(err)
		}
	}
}
