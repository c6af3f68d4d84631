package tool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder that fills up while the program runs is swept without being asked to.
func TestAccountSweeps(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	old := filepath.Join(o.Dir, "tool_old")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*OutputAge)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		bytes int64
		kept  bool
	}{{MaxOutputDir / 8, true}, {1, false}} {
		if err := o.account(t.Context(), step.bytes); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(old); (err == nil) != step.kept {
			t.Errorf("after %d bytes more: %v", step.bytes, err)
		}
	}
}

// A path that a log names is not believed: only files of the folder go.
func TestRemoveKeepsToItsFolder(t *testing.T) {
	o := &Outputs{Dir: filepath.Join(t.TempDir(), "out")}
	f, err := o.create()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "tool_x")
	other := filepath.Join(o.Dir, "other")
	if err := errors.Join(f.Close(), os.WriteFile(elsewhere, nil, 0o600), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := o.Remove([]string{elsewhere, other, f.Name(), f.Name(), filepath.Join(o.Dir, "..", "tool_y")}); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{f.Name(): false, elsewhere: true, other: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
