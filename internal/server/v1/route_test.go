package v1_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Unknown paths are answered in JSON: clients take HTML for a response.
func TestUnknownPathsAreToldInJSON(t *testing.T) {
	w := newWorld(t, "", nil)
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/nonsense", 404, `{"name":"NotFoundError","data":{"message":"Path not found: /nonsense"}}`},
		{"GET", "/", 404, `{"name":"NotFoundError","data":{"message":"Path not found: /"}}`},
		{
			"GET", "/assets/none.js", 404,
			`{"name":"NotFoundError","data":{"message":"Path not found: /assets/none.js"}}`,
		},
		{"GET", "/path/../path", 404, `{"name":"NotFoundError","data":{"message":"Path not found: /path/../path"}}`},
		{
			"POST", "/global/health", 405,
			`{"name":"MethodNotAllowedError","data":{"message":"/global/health has no POST; it has GET, HEAD"}}`,
		},
		{
			"GET", "/api/nonsense", 404,
			`{"_tag":"NotFoundError","message":"path \"/api/nonsense\" not found","resource":"/api/nonsense","what":"path"}`,
		},
	} {
		a := w.ask(t, c.method, c.path, "")
		if a.status != c.status || a.body != c.body || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s %s", c.method, c.path, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
}

// A request is about the directory of its query, else of its header in either spelling, else the server's own.
func TestTheDirectoryOfARequest(t *testing.T) {
	w := newWorld(t, "", map[string]string{"below it/x": "", "own/x": ""})
	below, own := filepath.Join(w.work, "below it"), filepath.Join(w.work, "own")
	for name, c := range map[string]struct{ query, header, want string }{
		"none":              {"", "", w.work},
		"query":             {below, "", below},
		"header":            {"", below, below},
		"encoded header":    {"", url.PathEscape(below), below},
		"query and header":  {own, below, own},
		"relative":          {"own", "", own},
		"not clean":         {below + "/../own/", "", own},
		"parent by symlink": {below + "/.", "", below},
	} {
		path := "/path"
		if c.query != "" {
			path += "?directory=" + url.QueryEscape(c.query)
		}
		var header []string
		if c.header != "" {
			header = []string{"X-Opencode-Directory", c.header}
		}
		a := w.ask(t, http.MethodGet, path, "", header...)
		if a.status != 200 || !strings.Contains(a.body, `"worktree":"`+w.work+`","directory":"`+c.want+`"}`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for _, bad := range []string{
		"/path?directory=%00", "/path?directory=" + strings.Repeat("x", 5000),
		"/path?directory=%ff",
	} {
		if a := w.ask(t, http.MethodGet, bad, ""); a.status != 400 || !strings.Contains(a.body, `"name":"BadRequest"`) {
			t.Errorf("%.40s: %d %s", bad, a.status, a.body)
		}
	}
}

// A request may name a directory that does not exist; an operation that needs the directory reports that it is missing.
func TestADirectoryThatIsNotThere(t *testing.T) {
	w := newWorld(t, "", map[string]string{"file": ""})
	for dir, worktree := range map[string]string{
		w.work + "/none": w.work, w.work + "/file": w.work, w.work + "/a/b/c": w.work, "/none/at/all": "/",
	} {
		query := "?directory=" + url.QueryEscape(dir)
		if a := w.ask(t, http.MethodGet, "/path"+query, ""); a.status != 200 ||
			!strings.HasSuffix(a.body, `"worktree":"`+worktree+`","directory":"`+dir+`"}`) {
			t.Error(a)
		}
		for _, route := range []string{
			"POST /session", "GET /config", "GET /agent", "GET /project/current",
			"GET /file", "POST /pty",
		} {
			method, path, _ := strings.Cut(route, " ")
			if a := w.ask(t, method, path+query+"&path=.", ""); a.status != 400 ||
				!strings.Contains(a.body, "directory") {
				t.Errorf("%s in %s: %d %s", route, dir, a.status, a.body)
			}
		}
	}
}

// More directories than are kept at once are served, each as itself, the first one as ever.
func TestManyDirectories(t *testing.T) {
	w := newWorld(t, "", nil)
	const many = 70 // 64 are kept
	name := func(i int) string { return fmt.Sprintf("%s/dir %03d", w.home, i) }
	for i := range many {
		w.put(t, name(i)+"/cairn.json", fmt.Sprintf(`{"agent": {"own%d": {"prompt": "x"}}}`, i))
	}
	var before, after runtime.MemStats
	for round := range 2 {
		for i := range many {
			a := w.ask(t, http.MethodGet, "/agent", "", "X-Opencode-Directory", url.PathEscape(name(i)))
			if a.status != 200 || !strings.Contains(a.body, fmt.Sprintf(`"own%d"`, i)) ||
				strings.Count(a.body, `"own`) != 1 {
				t.Fatalf("%s: %d %.300s", name(i), a.status, a.body)
			}
		}
		runtime.GC()
		if round == 0 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
}

// A directory that is named by a link is the one that it leads to, also for those who watch it.
func TestADirectoryByALink(t *testing.T) {
	w := newWorld(t, "", map[string]string{"x": ""})
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(w.work, link); err != nil {
		t.Fatal(err)
	}
	query := "?directory=" + url.QueryEscape(link)
	next := w.follow(t, "/event"+query)
	next()
	a := w.ask(t, http.MethodPost, "/session"+query, `{"title":"Linked"}`)
	if got := next(); a.status != 200 || !strings.HasPrefix(got, "session.created ") ||
		!strings.Contains(got, "Linked") {
		t.Error(a, got)
	}
	if a := w.ask(t, http.MethodGet, "/session"+query, ""); !strings.Contains(a.body, "Linked") {
		t.Error(a)
	}
}

// An empty body is as good as none, also where it is declared as JSON.
func TestAnEmptyBody(t *testing.T) {
	w := newWorld(t, "", nil)
	if a := w.ask(t, http.MethodPost, "/session", "", "Content-Type", "application/json"); a.status != 200 {
		t.Error(a)
	}
}

// Sessions of all places are listed with their projects, page by page.
func TestSessionsEverywhere(t *testing.T) {
	w := newWorld(t, "", map[string]string{"below/x": ""})
	elsewhere := t.TempDir()
	for _, at := range []string{w.work, w.work + "/below", elsewhere} {
		if a := w.ask(t, http.MethodPost, "/session?directory="+url.QueryEscape(at),
			`{"title":"In `+filepath.Base(at)+`"}`); a.status != 200 {
			t.Fatal(a)
		}
	}
	a := w.ask(t, http.MethodGet, "/experimental/session", "")
	if a.status != 200 || strings.Count(a.body, `"worktree":"`+w.work+`"`) != 2 ||
		strings.Count(a.body, `"worktree":"/"`) != 1 {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/experimental/session?search=below", ""); strings.Count(a.body, `"title"`) != 1 {
		t.Error(a)
	}
	if a := w.ask(t, http.MethodGet, "/experimental/session?directory="+url.QueryEscape(elsewhere), ""); strings.Count(
		a.body,
		`"title"`,
	) != 1 {
		t.Error(a)
	}
	page := w.ask(t, http.MethodGet, "/experimental/session?limit=2", "")
	rest := w.ask(t, http.MethodGet, "/experimental/session?cursor="+page.header.Get("X-Next-Cursor"), "")
	if strings.Count(page.body, `"title"`) != 2 || rest.status != 200 || strings.Count(rest.body, `"title"`) > 1 {
		t.Error(page, rest)
	}
}

// OpenCode answers 500 in plain text here.
func TestAWorkspaceThatIsNotThere(t *testing.T) {
	w := newWorld(t, "", nil)
	a := w.ask(t, http.MethodGet, "/path?workspace=wrk_1", "")
	if a.status != 404 || a.body != `{"name":"NotFoundError","data":{"message":"Workspace not found: wrk_1"}}` {
		t.Error(a)
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t, "", nil)
	type health struct {
		Healthy bool   `json:"healthy"`
		Version string `json:"version"`
	}
	for _, path := range []string{"/global/health", "/health"} { // the latter is the Vercel AI SDK's provider's
		if got := get[health](t, w, path); got != (health{true, "test"}) {
			t.Error(path, got)
		}
	}
}

// The path of a session is relative to the top of its checkout, or else to the root; a list has the sessions at one
// path and below it, of the project of the directory. OpenCode's TUI sends this query.
func TestThePathOfASession(t *testing.T) {
	w := newWorld(t, "", map[string]string{"src/deep/a": "x"})
	outside := filepath.Join(t.TempDir(), "plain")
	w.put(t, filepath.Join(outside, "sub", "a"), "x")
	below := strings.TrimPrefix(outside, "/")
	for directory, path := range map[string]string{
		w.work: "", w.work + "/src": "src", w.work + "/src/deep": "src/deep", outside: below,
		outside + "/sub": below + "/sub",
	} {
		a := w.ask(t, http.MethodPost, "/session?directory="+directory, `{"title":"`+filepath.Base(directory)+`"}`)
		if got := read(t, a.body).(map[string]any)["path"]; got != path {
			t.Errorf("the path in %s is %v, want %s", directory, got, path)
		}
	}
	for query, want := range map[string]string{
		"directory=" + w.work:                                            "work",
		"directory=" + w.work + "&path=":                                 "deep src work",
		"directory=" + w.work + "&path=src":                              "deep src",
		"directory=" + w.work + "/src/deep&path=src":                     "deep src",
		"directory=" + w.work + "&path=sr":                               "",
		"directory=" + outside:                                           "plain",
		"directory=" + outside + "&path=":                                "plain sub",
		"directory=" + outside + "&path=" + below:                        "plain sub",
		"directory=" + outside + "&roots=true&limit=100&path=" + below:   "plain sub",
		"directory=" + outside + "&scope=project&path=" + below + "/sub": "sub",
		"directory=" + outside + "&path=" + below[:len(below)-1]:         "",
		"directory=" + outside + "&path=" + strings.Split(below, "/")[0]: "plain sub",
	} {
		var titles []string
		for _, s := range get[[]struct {
			Title string `json:"title"`
		}](t, w, "/session?"+query) {
			titles = append(titles, s.Title)
		}
		slices.Sort(titles)
		if got := strings.Join(titles, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// Children are the sessions right below one, and no others; a list has a hundred unless it is asked for more, what
// changed last first.
func TestListsOfSessions(t *testing.T) {
	w := newWorld(t, "", nil)
	make := func(body string) string {
		return read(t, w.ask(t, http.MethodPost, "/session", body).body).(map[string]any)["id"].(string)
	}
	top := make(`{"title":"top"}`)
	child := make(`{"title":"child","parentID":"` + top + `"}`)
	grandchild := make(`{"title":"grandchild","parentID":"` + child + `"}`)
	if a := w.ask(t, http.MethodGet, "/session/"+top+"/children", ""); !strings.Contains(a.body, child) ||
		strings.Contains(a.body, `"id":"`+grandchild) {
		t.Errorf("the children are %s", a.body)
	}
	for i := range 100 {
		make(fmt.Sprintf(`{"title":"number %d"}`, i))
	}
	if a := w.ask(t, http.MethodPatch, "/session/"+top, `{"metadata":{"a":1}}`); a.status != 200 {
		t.Fatal(a)
	}
	list := func(query string) []string {
		var titles []string
		for _, s := range get[[]struct {
			Title string `json:"title"`
		}](t, w, "/session"+query) {
			titles = append(titles, s.Title)
		}
		return titles
	}
	if got := list(""); len(got) != 100 || got[0] != "top" {
		t.Errorf("%d are listed, %q first", len(got), got[:min(len(got), 3)])
	}
	if got := list("?limit=200"); len(got) != 103 {
		t.Errorf("%d of 103 are listed", len(got))
	}
	if got := list("?limit=200&roots=true"); len(got) != 101 {
		t.Errorf("%d of 101 are listed that are below no other", len(got))
	}
}
