package workpath

import (
	"path/filepath"
	"testing"
)

// Titles name a call's file by its path below the top of the checkout, or else below the root of the file system.
func TestTitlesBeginAtTheTop(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ worktree, name, want string }{
		{top, "a.txt", "sub/a.txt"},
		{top, top, ""},
		{top, filepath.Join(filepath.Dir(top), "o.txt"), "../o.txt"},
		{"/", "a.txt", filepath.Join(top, "sub/a.txt")[1:]},
		{"", "/etc/hosts", "etc/hosts"},
	} {
		p, err := Resolver{Directory: filepath.Join(top, "sub"), Worktree: c.worktree}.Resolve(c.name)
		if err != nil || p.Title() != c.want {
			t.Errorf("%s below %q is %q, %v, want %q", c.name, c.worktree, p.Title(), err, c.want)
		}
	}
}
