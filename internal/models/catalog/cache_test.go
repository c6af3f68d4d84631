package catalog

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// source is models.dev: it answers with body, under a tag if there is one.
type source struct {
	status    int
	body, tag string
	asked     []string // the tags of the requests
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, r.Header.Get("If-None-Match"))
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
		if r.Header.Get("If-None-Match") == s.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	io.WriteString(w, s.body)
}

func cacheOf(tb testing.TB, s *source) Cache {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(server.Close)
	return Cache{
		Path:      filepath.Join(tb.TempDir(), "cache", "models.json"),
		URL:       server.URL,
		Transport: http.DefaultTransport,
	}
}

const facts = `{"p":{"name":"P","env":["K"],"api":"https://p","models":{"m":{"name":"M","new_field":[1]}}}}`

func TestRefresh(t *testing.T) {
	s := &source{body: facts, tag: `"1"`}
	c := cacheOf(t, s)
	if c.Facts() != nil || !c.FetchedAt().IsZero() {
		t.Error("an empty cache has facts")
	}
	for i, want := range []bool{true, false} {
		if changed, err := c.Refresh(t.Context()); changed != want || err != nil {
			t.Errorf("%d: %v %v", i, changed, err)
		}
	}
	if len(s.asked) != 2 || s.asked[1] != `"1"` {
		t.Errorf("asked %q", s.asked)
	}
	if m := model(t, build(t, Overlay{Facts: parsed(t, string(c.Facts()))}), "p", "m"); m.Title != "M" {
		t.Errorf("%+v", m)
	}
	s.body, s.tag = strings.Replace(facts, `"M"`, `"N"`, 1), `"2"`
	if changed, err := c.Refresh(t.Context()); !changed || err != nil ||
		model(t, build(t, Overlay{Facts: parsed(t, string(c.Facts()))}), "p", "m").Title != "N" {
		t.Errorf("%v %v", changed, err)
	}
	elsewhere := c
	elsewhere.URL = "https://elsewhere.example"
	if elsewhere.Facts() != nil {
		t.Error("facts of another source are used")
	}
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(c.Path, old, old); err != nil || c.Facts() != nil {
		t.Error("facts that are older than the binary's are used")
	}
}

func TestRefreshRefuses(t *testing.T) {
	s := &source{body: facts}
	c := cacheOf(t, s)
	if _, err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		status     int
		body, want string
	}{
		{500, "", "HTTP 500"},
		{0, "<html>log in</html>", "not a list of models"},
		{0, "{}", "not a list of models"},
		{0, `{"error":"gone"}`, "not a list of models"},
		{0, facts[:40], "not a list of models"},
		{0, `{"error":{"message":"gone"}}`, "not a list of models"},
		{0, `{"p":{"models":{"m":null,"":{}}}}`, "not a list of models"},
	} {
		s.status, s.body = tt.status, tt.body
		if _, err := c.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.body, err)
		}
		if string(c.Facts()) != facts {
			t.Errorf("%s: what was there is lost", tt.body)
		}
	}
	c.URL = "http://127.0.0.1:1"
	if _, err := c.Refresh(t.Context()); err == nil {
		t.Error("a source that does not answer returns no error")
	}
}

// TestFactsOfTomorrow: a model that cannot be understood is left out, and the others stay.
func TestFactsOfTomorrow(t *testing.T) {
	const odd = `{"p":{"name":"P","env":["K"],"models":{"good":{"name":"G"},"odd":{"limit":"many"},"worse":[1]}},` +
		`"q":{"name":["Q"],"models":{}},"r":{"models":7}}`
	c := build(t, Overlay{Facts: parsed(t, odd), Providers: map[string]ProviderPatch{"p": {Name: "Mine"}}})
	if len(c.Models()) != 1 || c.Models()[0].ID != "good" || len(c.Providers()) != 3 {
		t.Errorf("%+v", c.Models())
	}
	if p, err := c.Provider("p"); err != nil || p.Name != "Mine" {
		t.Errorf("%+v %v", p, err)
	}
}

// TestBadRows: a row that cannot be read is left out and named, and no other is.
func TestBadRows(t *testing.T) {
	f := parsed(t, "\ufeff"+`{
		"p": {"name": "P", "env": "K", "api": "https://p", "models": {"good": {"name": "G"}, "none": null, "": {"name": "E"},
			"odd": {"limit": {"context": "many"}}, "dear": {"cost": {"input": -1}}, "list": []}},
		"q": 7, "": {"models": {"m": {}}}, "r": {"models": [1]}, "s": {"models": {"m": {"tool_call": "yes"}}}}`)
	var got []string
	for _, p := range f.problems {
		got = append(got, p.String())
	}
	want := []string{
		`"": a provider without a name`, `"p": env: want a list`, `"p/": a model without a name`,
		`"p/dear": cost.input: want a price`,
		`"p/list": want an object, got a list`, `"p/none": want an object, got null`,
		`"p/odd": limit.context: want a whole number`,
		`"q": want an object, got a number`, `"r": models: want an object, got a list`,
		`"s/m": tool_call: want true or false`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	patch := ProviderPatch{
		Models: map[string]jsontext.Value{"odd": jsontext.Value(`{"name":"Mine"}`), "gone": jsontext.Value(`null`)},
	}
	c := build(t, Overlay{Facts: f, Providers: map[string]ProviderPatch{"p": patch}})
	if len(c.Models()) != 2 || model(t, c, "p", "good").Title != "G" || model(t, c, "p", "odd").Title != "Mine" {
		t.Errorf("%+v", c.Models())
	}
	for name, want := range map[string]string{"p/dear": `model "p/dear" is listed, but cannot be read: cost.input: want ` +
		`a price`, "q/x": "unknown model"} {
		if _, err := c.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.Provider("q"); err == nil ||
		!strings.Contains(err.Error(), "cannot be read: want an object, got a number") {
		t.Error(err)
	}
}

// TestExamine: an unusable file of the cache is reported, and the use of another source's facts is not.
func TestExamine(t *testing.T) {
	c := cacheOf(t, &source{body: "\ufeff" + facts})
	if err := c.Check(); err != nil {
		t.Errorf("a missing file is reported: %v", err)
	}
	if _, err := c.Refresh(t.Context()); err != nil || c.Check() != nil || string(c.Facts()) != facts {
		t.Errorf("%v, %v", err, c.Check())
	}
	for text, want := range map[string]string{
		`{"etag":`: "is not valid JSON", `{"from":"` + c.URL + `","facts":{"a":1}}`: "not a list of models",
		`{"from":"https://elsewhere","facts":{}}`: "",
	} {
		if err := os.WriteFile(c.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if c.URL == "" || c.Facts() != nil && want != "not a list of models" {
			t.Errorf("%s is used", text)
		}
	}
}

func TestReadFacts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.json")
	for _, tt := range []struct{ text, want string }{
		{facts, ""},
		{"x", "not a list of models"},
		{"{}", "not a list of models"},
	} {
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := ReadFacts(path)
		if (err == nil) != (tt.want == "") || err == nil && string(raw) != tt.text ||
			err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s %v", tt.text, raw, err)
		}
	}
	if _, err := ReadFacts(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if _, err := ReadFacts(dir); err == nil {
		t.Error("a directory is read")
	}
}

func FuzzFacts(f *testing.F) {
	f.Add(facts)
	f.Add(
		`{"p":{"models":{"m":{"cost":{"input":-1},"variants":{"x":{"headers":1}},"reasoning_options":[{"type":"effort","values":[1,"\u0000"]}]}}}}`,
	)
	f.Add(fmt.Sprintf(`{"p":%s}`, strings.Repeat(`{"models":`, 50)))
	f.Fuzz(func(t *testing.T, text string) {
		if checkFacts([]byte(text)) != nil {
			return
		}
		c, err := New(Overlay{Facts: parsed(t, text)})
		if err != nil {
			t.Fatalf("facts that are usable make no catalog: %v", err)
		}
		for _, m := range c.Models() {
			m.Options()
			for _, v := range m.Variants {
				for name, value := range v.Body {
					if !value.IsValid() {
						t.Errorf("%s: %s", name, value)
					}
				}
			}
		}
	})
}
