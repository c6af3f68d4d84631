package v1_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "github.com/cairn-dev/cairn/internal/server/v1"
)

// A body of 64 MiB is refused at once where its length is said, and as soon as it is too long where it is not.
func TestBodiesAreBounded(t *testing.T) {
	w := newWorld(t, "", nil)
	big := func() io.Reader { return io.LimitReader(endless('x'), 64<<20) }
	for _, path := range []string{
		"POST /session", "POST /session/ses_1/message", "PATCH /config", "POST /vcs/apply",
		"POST /log", "POST /tui/publish", "PUT /auth/x",
	} {
		method, path, _ := strings.Cut(path, " ")
		for _, length := range []int64{64 << 20, -1} {
			r, err := http.NewRequestWithContext(
				t.Context(),
				method,
				"http://localhost"+path,
				io.MultiReader(strings.NewReader(`{"title":"`), big()),
			)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Content-Type", "application/json")
			resp, err := w.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge ||
				!strings.HasPrefix(string(body), `{"name":"RequestTooLargeError"`) {
				t.Errorf("%s %s, %d: %d %s, %v", method, path, length, resp.StatusCode, body, err)
			}
		}
	}
	if a := w.ask(t, http.MethodGet, "/session", ""); a.status != 200 || a.body != `[]` {
		t.Error(a)
	}
}

// The bound on bodies is the user's to set, and the refusal names it.
func TestTheBoundOnBodiesIsTheUsers(t *testing.T) {
	w := newWorld(t, `, "limits": {"body": 70000}`, nil)
	for size, want := range map[int]int{69_000: 200, 71_000: 413} {
		a := w.ask(t, http.MethodPost, "/session", `{"x":"`+strings.Repeat("x", size)+`"}`)
		if a.status != want || want == 413 && !strings.Contains(a.body, "70000") {
			t.Errorf("%d bytes: %d %.200s", size, a.status, a.body)
		}
	}
}

// What is kept of others, such as a page in a file, is never answered so that a browser would show it.
func TestNothingIsShownAsAPage(t *testing.T) {
	const page = "<!doctype html><script>alert(1)</script>\n"
	w := newWorld(
		t,
		"",
		map[string]string{"a.html": page, "a.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"},
	)
	w.put(t, w.work+"/a.html", page+page)
	id := read(t, w.ask(t, http.MethodPost, "/session",
		`{"title":"<script>alert(1)</script>"}`).body).(map[string]any)["id"].(string)
	w.ask(
		t,
		http.MethodPost,
		"/session/"+id+"/prompt_async",
		`{"noReply":true,"parts":[{"type":"text","text":"<script>alert(1)</script>"}]}`,
	)
	for _, path := range []string{
		"/file/content?path=a.html", "/file/content?path=a.svg", "/file?path=.", "/find?pattern=script",
		"/vcs/diff/raw", "/vcs/diff?mode=git", "/session", "/session/" + id,
		"/session/" + id + "/message", "/<script>", "/session/<script>", "/file?path=<script>", "/doc", "/api/doc",
	} {
		a := w.ask(t, http.MethodGet, strings.NewReplacer("<", "%3C", ">", "%3E").Replace(path), "", "Accept", "text/html")
		kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
		if kind != "application/json" && (kind != "text/x-diff" || path != "/vcs/diff/raw") {
			t.Errorf("%s: %d as %q", path, a.status, kind)
		}
	}
}

// endless reads as the same byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// Whatever is in a path, a query or a body, the answer follows the contract and is not a server error.
func FuzzRoutes(f *testing.F) {
	for i := range v1.ListOperations() {
		f.Add(
			i,
			"ses_1",
			"directory=%2F..",
			`{"parts":[{"type":"text","text":5}],"title":{},"patch":"x","type":"api","key":"k"}`,
		)
	}
	f.Add(0, "..", "directory=%ff&workspace=\x00&limit=-1&mode=x&path=../../etc/passwd", "\xff\xfe")
	f.Add(1, "%2e%2e%2f", "limit=99999999999999999999&start=1e9&cursor=x", strings.Repeat("[", 5000))
	w := newWorld(f, "", map[string]string{"a.txt": "alpha\n"})
	f.Fuzz(func(t *testing.T, n int, id, query, body string) {
		r := v1.ListOperations()[uint(n)%uint(len(v1.ListOperations()))]
		if streams(r.Path) || r.Path == "/project/git/init" { // which changes directories outside of the test's
			return
		}
		var path strings.Builder
		for rest := r.Path; rest != ""; {
			before, after, found := strings.Cut(rest, "{")
			path.WriteString(before)
			if found {
				_, after, _ = strings.Cut(after, "}")
				path.WriteString(url.PathEscape(id))
			}
			rest = after
		}
		if _, err := url.Parse("http://localhost" + path.String() + "?" + query); err != nil {
			return
		}
		if id == "." || id == ".." {
			return // this names no operation, or another one
		}
		if r.Method == http.MethodGet {
			body = ""
		}
		a := w.ask(t, r.Method, path.String()+"?"+query, body)
		if a.status >= 500 || !utf8.ValidString(a.body) || strings.Contains(a.header.Get("Content-Type"), "html") {
			t.Errorf("%s %s?%s %q: %d %.300s", r.Method, path.String(), query, body, a.status, a.body)
		}
	})
}

// An id that a path resolves away reaches no operation.
func TestDotsAreNoIDs(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, r := range v1.ListOperations() {
		if !strings.Contains(r.Path, "}/") {
			continue
		}
		before, after, _ := strings.Cut(r.Path, "{")
		_, after, _ = strings.Cut(after, "}")
		path := before + "." + strings.NewReplacer("{", "", "}", "").Replace(after)
		req, err := http.NewRequestWithContext(t.Context(), r.Method, "http://localhost"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound || !strings.Contains(string(b), `"NotFoundError"`) {
			t.Errorf("%s %s: %d %.200s", r.Method, path, resp.StatusCode, b)
		}
	}
}
