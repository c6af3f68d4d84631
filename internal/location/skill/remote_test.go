package skill

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/location/webcache"
)

// Skills of URLs are found by their index, stay while the pages cannot be reached, also after a restart, and give way
// to those in folders.
func TestSkillsOfURLs(t *testing.T) {
	var down atomic.Bool
	pages := map[string]string{
		"/s/index.json": `{"skills": [
			{"name": "deploy", "files": ["SKILL.md", "ref/a b.md", "../x", ".env", "gone.md", "/etc/passwd"]},
			{"name": "../evil", "files": ["SKILL.md"]}, {"name": "other", "files": ["SKILL.md"]},
			{"name": "mine", "files": ["SKILL.md"]}, {"name": "bare", "files": []}]}`,
		"/s/deploy/SKILL.md":   "---\nname: deploy\ndescription: How to deploy.\n---\nPush the button.",
		"/s/deploy/ref/a b.md": "Which button.",
		"/s/other/SKILL.md":    "---\nname: else\n---\nx",
		"/s/mine/SKILL.md":     "---\nname: mine\ndescription: Theirs.\n---\ntheirs",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := pages[r.URL.Path]; ok && !down.Load() {
			_, _ = w.Write([]byte(text))
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	dir := t.TempDir()
	loaded := ""
	find := func() Set {
		cache := &webcache.Pages{Dir: dir}
		defer cache.Close()
		local := Set{Skills: []Skill{{Name: "mine", Description: "Mine."}}}
		address := strings.Replace(server.URL, "//", "//u:secret@", 1) + "/s/"
		o := Options{URLs: []string{address, "http://example.org"}, Pages: cache, Downloads: filepath.Join(dir, "files")}
		f := o.addRemote(local)
		s, _ := f.Get("deploy")
		names, problems := o.downloadFiles(t.Context(), &s)
		loaded = s.formatRemote(names, problems)
		return f
	}
	for ; ; down.Store(true) {
		f := find()
		if got := strings.Join(f.Names(), " "); got != "deploy mine" {
			t.Fatalf("found %s", got)
		}
		if s, _ := f.Get("mine"); s.Description != "Mine." {
			t.Errorf("the skill of a folder is %+v", s)
		}
		s, _ := f.Get("deploy")
		want := `<skill_content name="deploy">` + "\nPush the button.\n\nThis skill is the page " + server.URL +
			"/s/deploy/SKILL.md.\nBase directory: " + s.Dir() + "\nRelative paths in this skill start there.\n" +
			"Files that were downloaded with it; ask the user before you run one:\n- ref/a b.md\n" +
			"Files that are missing:\n- gone.md: the server answers 503\n</skill_content>"
		if d := cmp.Diff(want, loaded); d != "" {
			t.Error(d)
		}
		if text, err := os.ReadFile(filepath.Join(s.Dir(), "ref/a b.md")); string(text) != "Which button." || err != nil {
			t.Errorf("the file beside it is %q, %v", text, err)
		}
		if len(f.Problems) != 3 {
			t.Errorf("problems %+v", f.Problems)
		}
		if down.Load() {
			return
		}
	}
}
