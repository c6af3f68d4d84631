package skill

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-dev/cairn/internal/webcache"
)

// Skills of URLs are found by their index, stay while the pages cannot be reached, also after a restart, and give way
// to those in folders.
func TestSkillsOfURLs(t *testing.T) {
	var down atomic.Bool
	pages := map[string]string{
		"/s/index.json": `{"skills": [{"name": "deploy", "files": ["SKILL.md", "x.sh"]},
			{"name": "../evil", "files": ["SKILL.md"]}, {"name": "other", "files": ["SKILL.md"]},
			{"name": "mine", "files": ["SKILL.md"]}, {"name": "bare", "files": []}]}`,
		"/s/deploy/SKILL.md": "---\nname: deploy\ndescription: How to deploy.\n---\nPush the button.",
		"/s/other/SKILL.md":  "---\nname: else\n---\nx",
		"/s/mine/SKILL.md":   "---\nname: mine\ndescription: Theirs.\n---\ntheirs",
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
	find := func() Set {
		cache := &webcache.Pages{Dir: dir}
		defer cache.Close()
		local := Set{Skills: []Skill{{Name: "mine", Description: "Mine."}}}
		address := strings.Replace(server.URL, "//", "//u:secret@", 1) + "/s/"
		return Options{URLs: []string{address, "http://example.org"}, Pages: cache}.addRemote(local)
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
		if text := s.formatContent(); !strings.Contains(text, "Push the button.\n\nThis skill is the page "+server.URL) {
			t.Error(text)
		}
		if want := server.URL + "/s/deploy"; s.Location != want+"/SKILL.md" || s.Dir() != want {
			t.Errorf("the skill is at %s, in %s", s.Location, s.Dir())
		}
		if len(f.Problems) != 3 {
			t.Errorf("problems %+v", f.Problems)
		}
		if down.Load() {
			return
		}
	}
}
