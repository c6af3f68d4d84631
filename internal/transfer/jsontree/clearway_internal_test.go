package jsontree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One odd entry in a tree does not keep values out of it: a link is removed, and a folder or a file gets another name.
func TestOddEntries(t *testing.T) {
	key := Key{"message", "ses_1", "msg_1"}
	for name, put := range map[string]func(file string) error{
		"a folder in the place of the file": func(file string) error {
			return os.MkdirAll(filepath.Join(file, "kept"), 0o700)
		},
		"a file in the place of the folder": func(file string) error {
			return os.WriteFile(filepath.Dir(file), []byte("kept"), 0o600)
		},
		"a link that leads out": func(file string) error {
			elsewhere := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))), "..", "elsewhere")
			if err := os.MkdirAll(elsewhere, 0o700); err != nil {
				return err
			}
			return os.Symlink(elsewhere, filepath.Dir(file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			tree, err := OpenTree(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			file := filepath.Join(dir, "storage", "message", "ses_1", "msg_1.json")
			if err := os.MkdirAll(filepath.Join(dir, "storage", "message"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(file); err != nil {
				t.Fatal(err)
			}
			// The value is written and read, in the tree, and removed.
			if _, err := tree.Write(t.Context(), key, map[string]string{"id": "msg_1"}); err != nil {
				t.Fatal(err)
			}
			if v, err := tree.Read(t.Context(), key); err != nil || !strings.Contains(string(v), "msg_1") {
				t.Errorf("%s, %v", v, err)
			}
			if info, err := os.Lstat(filepath.Dir(file)); err != nil || !info.IsDir() {
				t.Errorf("the folder is %v, %v", info, err)
			}
			if removed, err := tree.Remove(t.Context(), key); err != nil || !removed {
				t.Errorf("removed: %v, %v", removed, err)
			}
		})
	}
}
