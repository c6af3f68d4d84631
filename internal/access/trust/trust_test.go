package trust

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func plant(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func claimOf(t *testing.T, root string) *Claim {
	t.Helper()
	c := &Claim{Root: root, Project: "p"}
	c.AddTree("plugin", "a plugin", nil)
	c.AddTree("skill", "a skill's file", func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".md") })
	return c
}

func TestContentIsTrustedNotTheName(t *testing.T) {
	root, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	plant(t, root, "plugin/a.js", "one")
	plant(t, root, "skill/x/SKILL.md", "words")
	s := New(data)
	judge := Judge{Store: s}
	if judge.IsTrusted(claimOf(t, root)) {
		t.Fatal("trusted by an empty store")
	}
	first := claimOf(t, root)
	if err := s.Trust(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if !judge.IsTrusted(claimOf(t, root)) {
		t.Fatal("what was trusted is not")
	}
	if (Judge{s, None}).IsTrusted(first) {
		t.Error("none trusts")
	}
	plant(t, root, "skill/x/SKILL.md", "other words")
	if !judge.IsTrusted(claimOf(t, root)) {
		t.Error("words that changed ask again")
	}
	for _, change := range []func(){
		func() { plant(t, root, "plugin/a.js", "two") },
		func() { plant(t, root, "plugin/b.js", "new") },
		func() { plant(t, root, "skill/x/run.sh", "rm") },
	} {
		if err := s.Trust(t.Context(), claimOf(t, root)); err != nil {
			t.Fatal(err)
		}
		change()
		c := claimOf(t, root)
		if judge.IsTrusted(c) {
			t.Errorf("a change is trusted: %+v", c.Files)
		}
		if !(Judge{s, strings.ToUpper(c.Hash())}).IsTrusted(c) {
			t.Error("the hash itself does not trust")
		}
	}
	elsewhere := *first
	elsewhere.Root = t.TempDir()
	foreign := *first
	foreign.Project = "another"
	if judge.IsTrusted(&elsewhere) || judge.IsTrusted(&foreign) {
		t.Error("trusted in another checkout or project")
	}
	if n, err := s.Revoke(t.Context(), root); n != 3 || err != nil || judge.IsTrusted(first) {
		t.Errorf("revoked %d, %v", n, err)
	}
}

func TestStoreIsPrivateAndFailsClosed(t *testing.T) {
	root, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	plant(t, root, "plugin/a.js", "one")
	s, c := New(data), claimOf(t, root)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			other := *c
			other.Project = strings.Repeat("p", i+1)
			if err := New(data).Trust(t.Context(), &other); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := s.List(); err != nil || len(list) != 10 {
		t.Errorf("%d of 10 are kept, %v", len(list), err)
	}
	for path, want := range map[string]os.FileMode{s.Path(): 0o600, data: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	plant(t, data, FileName, `{"trusted": [`)
	if s.IsTrusted(c) || s.Trust(t.Context(), c) == nil {
		t.Error("a broken file trusts or is overwritten")
	}
}

func TestWhatCannotBeTrusted(t *testing.T) {
	outside := t.TempDir()
	plant(t, outside, "x.js", "x")
	link := func(to, name string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, do := range map[string]func(*testing.T, string){
		"a link out of the project":  link(filepath.Join(outside, "x.js"), "plugin/l.js"),
		"a link to a directory":      link(".", "plugin/l"),
		"a link that leads nowhere":  link("nowhere", "plugin/l"),
		"a link as the whole folder": link(outside, "skill"),
		"too much": func(t *testing.T, root string) {
			plant(t, root, "plugin/big", "")
			if err := os.Truncate(filepath.Join(root, "plugin", "big"), maxBytes+1); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			plant(t, root, "plugin/a.js", "one")
			do(t, root)
			c := claimOf(t, root)
			if c.Problem == "" {
				t.Fatalf("can be trusted: %+v", c.Files)
			}
			s := New(t.TempDir())
			if err := s.Trust(t.Context(), c); err == nil || (Judge{s, c.Hash()}).IsTrusted(c) {
				t.Errorf("is trusted: %v", err)
			}
		})
	}
	// A directory above the folder is a link out of the project.
	plant(t, outside, "plugin/x.js", "x")
	linked := t.TempDir()
	link(outside, ".opencode")(t, linked)
	through := &Claim{Root: linked}
	if through.AddTree(".opencode/plugin", "plugin", nil); through.Problem == "" {
		t.Errorf("a folder behind a link can be trusted: %+v", through.Files)
	}
	missing := &Claim{Root: linked}
	if missing.AddTree(".opencode/tool", "tool", nil); missing.Problem != "" {
		t.Errorf("a folder that is not there is a problem: %s", missing.Problem)
	}
	root := t.TempDir()
	plant(t, root, "plugin/real.js", "one")
	link("real.js", "plugin/l.js")(t, root)
	if c := claimOf(t, root); c.Problem != "" || len(c.Files) != 2 {
		t.Errorf("a link within the project: %+v", c)
	}
}

func TestWords(t *testing.T) {
	c := Claim{}
	for word, want := range map[string]bool{None: true, c.Hash(): true, "": false, "x": false, "abcd": false} {
		if IsOverride(word) != want {
			t.Errorf("%q", word)
		}
	}
}
