package statefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// A link to a file stays: Replace replaces the link's target.
func TestReplaceFollowsLinks(t *testing.T) {
	for name, tt := range map[string]struct{ links [][2]string }{
		"none":              {nil},
		"absolute":          {[][2]string{{"state/file", "ABS/real"}}},
		"relative":          {[][2]string{{"state/file", "../real"}}},
		"two":               {[][2]string{{"state/file", "next"}, {"state/next", "../real"}}},
		"a folder and more": {[][2]string{{"link", "state"}, {"state/file", "../real"}}},
	} {
		for _, there := range []bool{true, false} {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
				t.Fatal(err)
			}
			path, real := filepath.Join(dir, "state", "file"), filepath.Join(dir, "real")
			for _, l := range tt.links {
				to := l[1]
				if to == "ABS/real" {
					to = real
				}
				if err := os.Symlink(to, filepath.Join(dir, l[0])); err != nil {
					t.Fatal(err)
				}
			}
			if len(tt.links) == 0 {
				real = path
			}
			if name == "a folder and more" {
				path = filepath.Join(dir, "link", "file")
			}
			if there {
				if err := os.WriteFile(real, []byte("old"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := statefile.Replace(path, []byte("new"), 0o600); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			info, err := os.Lstat(real)
			if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", name, info, err)
			}
			if info, err := os.Lstat(path); err != nil || (info.Mode()&os.ModeSymlink != 0) != (len(tt.links) > 0) {
				t.Errorf("%s: the link is gone: %v %v", name, info, err)
			}
			if raw, err := os.ReadFile(path); string(raw) != "new" || err != nil {
				t.Errorf("%s: %s %v", name, raw, err)
			}
			if rest, _ := filepath.Glob(filepath.Join(dir, ".*")); len(rest) > 0 {
				t.Errorf("%s: %v is left", name, rest)
			}
		}
	}
}

func TestReplaceOfALoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.Symlink("file", path); err != nil {
		t.Fatal(err)
	}
	if err := statefile.Replace(path, nil, 0o600); err == nil {
		t.Error("written to nowhere")
	}
}
