//go:build unix

package v1_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A file whose name is no text, as archives of other systems have them, is shown with marks in its place, and keeps
// nothing else from being shown.
func TestNamesThatAreNoText(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("its file systems refuse such names")
	}
	w := newWorld(t, "", map[string]string{"a.txt": "alpha\n", "old\xff.txt": "inv\n"})
	w.put(t, filepath.Join(w.work, "inv\xff.txt"), "inv alpha \xff\n")
	w.put(t, filepath.Join(w.work, "d\xfe", "b.txt"), "alpha\n")
	w.put(t, filepath.Join(w.work, "old\xff.txt"), "changed\n")
	if err := os.Symlink("to\xff", filepath.Join(w.work, "link")); err != nil {
		t.Fatal(err)
	}
	w.git(t, "checkout", "-q", "-b", "br\xffnch")
	for path, want := range map[string][]string{
		"/file?path=.":                      {`"name":"inv�.txt"`, `"name":"a.txt"`, `"name":"d�"`},
		"/file?path=d%FE":                   {`"name":"b.txt"`},
		"/file/content?path=inv%FF.txt":     {`"type":"binary"`},
		"/find?pattern=alpha":               {`{"text":"a.txt"}`, `{"text":"inv�.txt"}`, `{"text":"d�/b.txt"}`},
		"/find/file?query=inv":              {`"inv�.txt"`},
		"/vcs":                              {`"branch":"br�nch"`},
		"/vcs/status":                       {`"file":"inv�.txt"`, `"file":"old�.txt"`, `"file":"d�/b.txt"`},
		"/vcs/diff?mode=git":                {`"file":"inv�.txt"`, `"file":"old�.txt"`, `+changed`},
		"/vcs/diff?mode=branch":             {`"file":"inv�.txt"`},
		"/vcs/diff/raw":                     {"+changed"},
		"/api/fs/list":                      {`inv�.txt`, `a.txt`},
		"/api/fs/find?query=inv":            {`inv�.txt`},
		"/project/current":                  {w.work},
		"/api/location":                     {w.work},
		"/config?directory=" + w.work + "/": {`{`},
	} {
		a := w.ask(t, http.MethodGet, path, "")
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
		for _, text := range want {
			if !strings.Contains(a.body, text) {
				t.Errorf("%s shows no %s: %s", path, text, a.body)
			}
		}
	}
}
