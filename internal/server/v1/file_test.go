package v1_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// As recorded from OpenCode (surface_get).
func TestFiles(t *testing.T) {
	w := newWorld(t, "", map[string]string{
		"a.txt": "alpha\nbeta\ngamma", "README.md": "# It\n", "src/util.py": "def add(a, b):\n    return a + b\n",
		"src/main.py": "from util import add\n\n\n\nprint(add(1, 2))\n", ".gitignore": "*.log\n", "x.log": "print\n",
	})
	node := func(name, kind, ignored string) string {
		path := name
		if kind == "directory" {
			path += "/"
		}
		return `{"name":"` + name + `","path":"` + path + `","absolute":"` + w.work + `/` + name + `","type":"` + kind +
			`","ignored":` + ignored + `}`
	}
	list := "[" + strings.Join([]string{
		node(
			".git",
			"directory",
			"false",
		), node("src", "directory", "false"), node(".gitignore", "file", "false"), node("a.txt", "file", "false"),
		node("README.md", "file", "false"), node("x.log", "file", "true"),
	}, ",") + "]"
	for path, want := range map[string]string{
		"/file?path=.":                         list,
		"/file?path=":                          list,
		"/file/content?path=a.txt":             `{"type":"text","content":"alpha\nbeta\ngamma"}`,
		"/file/content?path=missing.txt":       `{"type":"text","content":""}`,
		"/file/status":                         `[]`,
		"/find?pattern=print":                  `[{"path":{"text":"src/main.py"},"lines":{"text":"print(add(1, 2))\n"},"line_number":5,"absolute_offset":24,"submatches":[{"match":{"text":"print"},"start":0,"end":5}]}]`,
		"/find?pattern=nothing+like+it":        `[]`,
		"/find/file?query=main":                `["src/main.py"]`,
		"/find/file?query=sr&dirs=true":        `["src/","src/main.py","src/util.py"]`,
		"/find/file?query=sr&type=file":        `["src/main.py","src/util.py"]`,
		"/find/file?query=rdme&limit=1":        `["README.md"]`,
		"/find/file?query=&limit=2&dirs=false": `["a.txt","README.md"]`,
		"/find/symbol?query=add":               `[]`,
		"/file?path=src&directory=" + url.QueryEscape(w.work): `[{"name":"main.py","path":"src/main.py","absolute":"` +
			w.work +
			`/src/main.py","type":"file","ignored":false},{"name":"util.py","path":"src/util.py","absolute":"` +
			w.work + `/src/util.py","type":"file","ignored":false}]`,
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 || a.body != want {
			t.Errorf("%s: %d %s\nwant %s", path, a.status, a.body, want)
		}
	}
	w.put(t, filepath.Join(w.work, "p.png"), "\x89PNG\r\n\x1a\n\x00")
	if a := w.ask(t, http.MethodGet, "/file/content?path=p.png",
		""); a.body != `{"type":"binary","content":"`+base64.StdEncoding.EncodeToString(
		[]byte("\x89PNG\r\n\x1a\n\x00"),
	)+`","encoding":"base64","mimeType":"image/png"}` {
		t.Error(a.body)
	}
	for path, field := range map[string]string{
		"/file": "path", "/file/content": "path", "/find": "pattern", "/find/file": "query",
		"/find?pattern=(": "", "/find/file?query=x&limit=0": "limit", "/find/file?query=x&limit=x": "limit",
		"/find/file?query=x&type=y": "type",
		"/file?path=a.txt":          "path", "/file?path=missing": "path", "/file/content?path=src": "path",
		"/file?path=a%00b": "path",
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 400 || !strings.Contains(a.body, field) ||
			!strings.Contains(a.body, `"kind":"Query"`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// Nothing outside of the checkout is shown, by no spelling of a path and through no link.
func TestFilesStayInside(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", "sub/b.txt": "in\n"})
	outside := filepath.Join(w.home, "outside")
	w.put(t, filepath.Join(outside, "secret.txt"), "hunter2\n")
	w.put(t, w.work+"-evil/secret.txt", "hunter2\n") // begins like the checkout
	for name, target := range map[string]string{
		"twin":     w.work + "-evil",
		"link.txt": filepath.Join(outside, "secret.txt"), "dir": outside, "sub/up": "../..", "etc": "/etc",
	} {
		if err := os.Symlink(target, filepath.Join(w.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"../", "..", "../../", "/etc", "/etc/passwd", "link.txt", "dir", "dir/secret.txt", "sub/up", "sub/up/home",
		"etc/passwd", "./sub/../../x",
		w.work + "-evil/secret.txt", "../work-evil/secret.txt", "twin/secret.txt", "twin", outside + "/secret.txt",
		"sub/../../outside", "a.txt/../../..", `..\..`, "dir/../secret.txt", "/proc/self/environ", "/dev/zero",
	} {
		for _, route := range []string{"/file?path=", "/file/content?path="} {
			a := w.ask(t, http.MethodGet, route+url.QueryEscape(path), "")
			if strings.Contains(a.body, "hunter2") || strings.Contains(a.body, "root:") ||
				a.status == 200 && a.body != `{"type":"text","content":""}` ||
				a.status >= 500 {
				t.Errorf("%s%s: %d %.200s", route, path, a.status, a.body)
			}
		}
	}
	if a := w.ask(t, http.MethodGet, "/find?pattern=hunter", ""); a.body != `[]` {
		t.Error(a.body)
	}
	if a := w.ask(t, http.MethodGet, "/find/file?query=secret", ""); a.body != `[]` {
		t.Error(a.body)
	}
	if a := w.ask(t, http.MethodGet, "/file/content?path=../a.txt&directory=sub",
		""); a.body != `{"type":"text","content":"alpha\n"}` {
		t.Error("the checkout around the directory is inside", a)
	}
}

func FuzzFilePaths(f *testing.F) {
	for _, s := range []string{
		".", "a.txt", "../x", "/etc/passwd", "sub/up/../..", "a\x00b", "\xff",
		strings.Repeat("a/", 3000), "~", "file:///etc/passwd", "a.txt/", "sub//b.txt",
	} {
		f.Add(s)
	}
	w := newWorld(f, "", map[string]string{"a.txt": "alpha\n", "sub/b.txt": "in\n"})
	if err := os.Symlink("/", filepath.Join(w.work, "sub", "up")); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, route := range []string{"/file?path=", "/file/content?path=", "/find/file?query=", "/find?pattern="} {
			a := w.ask(t, http.MethodGet, route+url.QueryEscape(path), "")
			if a.status >= 500 || !utf8.ValidString(a.body) || strings.Contains(a.body, "root:x:") {
				t.Errorf("%s%q: %d %.300s", route, path, a.status, a.body)
			}
		}
	})
}

// OpenCode's TUI completes an @ with the search of V2, and reads V2's lists when it starts.
func TestFilesForTheTUI(t *testing.T) {
	w := newWorld(t, "", map[string]string{"a.txt": "x", "src/main.py": "x", ".gitignore": "*.log\n", "x.log": "x"})
	if err := os.Symlink(t.TempDir(), filepath.Join(w.work, "out")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/api/fs/find?query=a.t&limit=20":              `[{"path":"a.txt","type":"file"}]`,
		"/api/fs/find?query=sr":                        `[{"path":"src/","type":"directory"},{"path":"src/main.py","type":"file"}]`,
		"/api/fs/find?query=sr&type=file":              `[{"path":"src/main.py","type":"file"}]`,
		"/api/fs/find?query=sr&type=directory&limit=1": `[{"path":"src/","type":"directory"}]`,
		"/api/fs/find?query=log":                       `[]`,
		"/api/fs/list?path=src":                        `[{"path":"src/main.py","type":"file"}]`,
		"/api/reference":                               `[]`,
		"/api/integration":                             `[]`,
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != 200 || !strings.HasSuffix(a.body, `,"data":`+want+`}`) {
			t.Errorf("%s: %d %s\nwant %s", path, a.status, a.body, want)
		}
	}
	for path, want := range map[string]int{
		"/api/fs/find": 400, "/api/fs/find?query=x&limit=0": 400, "/api/fs/find?query=x&type=y": 400,
		"/api/fs/list?path=a.txt": 400,
		"/api/fs/list?path=..":    403, "/api/fs/list?path=out": 403,
	} {
		if a := w.ask(t, http.MethodGet, path, ""); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
