//go:build unix

package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestPermissionsReturn checks that a file that others could not read has its permissions again when its content comes
// back, after it was removed or replaced.
func TestPermissionsReturn(t *testing.T) {
	inEachTree(t, func(t *testing.T, p *testTree) {
		names := []string{"committed", "untracked", "program", "replaced"}
		modes := []os.FileMode{0o600, 0o640, 0o700, 0o600}
		for i, name := range names {
			p.write(name, name)
			if err := os.Chmod(filepath.Join(p.root, name), modes[i]); err != nil {
				t.Fatal(err)
			}
		}
		if p.git != "" {
			p.command("git", "add", "committed")
			p.command("git", "commit", "-q", "-m", "one")
		}
		before := p.mustCapture()
		for _, name := range names {
			_ = os.Remove(filepath.Join(p.root, name)) // it is there
		}
		p.write("replaced", "by a command")
		found, _, err := p.Compare(t.Context(), before, p.mustCapture(), 100)
		if err != nil || len(found) != len(names) {
			t.Fatal(found, err)
		}
		for i, c := range found {
			found[i].Before, found[i].After = c.After, c.Before
		}
		if errs := p.Restore(t.Context(), found); errs[0] != nil {
			t.Fatal(errs)
		}
		var got []os.FileMode
		for _, name := range names {
			info, err := os.Stat(filepath.Join(p.root, name))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, info.Mode().Perm())
		}
		if !slices.Equal(got, modes) {
			t.Errorf("the permissions are %o", got)
		}
	})
}

// TestOwnerAndLinksStay checks that a restored file has the owner of the file that was there, or of its directory, and
// that all names of a file have one content.
func TestOwnerAndLinksStay(t *testing.T) {
	p := newDirectory(t)
	const user = 1000
	own := os.Geteuid() == 0
	p.write("sub/a", "new")
	p.write("gone/b", "old")
	if err := os.Link(filepath.Join(p.root, "sub", "a"), filepath.Join(p.root, "other")); err != nil {
		t.Skip(err)
	}
	p.write("owned", "new")
	old, err := p.Put(t.Context(), []byte("old"), session.ModeFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "owned", "sub", "sub/a", "gone"} {
		if err := os.Lchown(filepath.Join(p.root, name), user, user); own && err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(p.root, "gone")); err != nil {
		t.Fatal(err)
	}
	paths := []session.FilePath{"owned", "sub/a", "gone/b"}
	steps := make([]session.FileChange, len(paths))
	for i, now := range p.states(paths) {
		steps[i] = session.FileChange{Path: paths[i], Before: now, After: old}
	}
	for i, err := range p.Restore(t.Context(), steps) {
		if err != nil {
			t.Fatal(paths[i], err)
		}
	}
	if got := p.read("other"); got != "old" {
		t.Errorf("the other name has %q", got)
	}
	for _, name := range []string{"owned", "sub/a", "gone", "gone/b"} {
		info, err := os.Stat(filepath.Join(p.root, name))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; own && uid != user {
			t.Errorf("%s belongs to %d", name, uid)
		}
	}
}
