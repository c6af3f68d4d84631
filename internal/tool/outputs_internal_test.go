package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
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
	f, err := o.create("ses_a")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "tool_x")
	other := filepath.Join(o.Dir, "other")
	if err := errors.Join(f.Close(), os.WriteFile(elsewhere, nil, 0o600), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := o.Remove("ses_b", []string{elsewhere, other, f.Name(), f.Name(), filepath.Join(o.Dir, "..", "tool_y")}); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{f.Name(): false, elsewhere: true, other: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// With a session go the files that bear its name; what is not ours, not its own, or of nobody stays.
func TestRemoveOrphans(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	made := func(id session.ID) string {
		f, err := o.create(id)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	a, again, other, nobody, odd, young := made("ses_a"), made("ses_a"), made("ses_a-b"), made(""), made("ses_:"), made("ses_a")
	foreign := filepath.Join(o.Dir, "my-ses_a")
	dir := filepath.Join(o.Dir, "tool_x-ses_a")
	start := time.Now().Add(time.Hour)
	err := errors.Join(os.WriteFile(foreign, nil, 0o600), os.Mkdir(dir, 0o700), os.Chtimes(young, start, start))
	if err != nil {
		t.Fatal(err)
	}
	asked := map[session.ID]int{}
	err = o.RemoveOrphans(t.Context(), start, func(id session.ID) (bool, error) {
		if asked[id]++; id == "ses_a-b" {
			return true, errors.New("nobody knows")
		}
		return id == "ses_a", nil
	})
	if err == nil || len(asked) != 2 || asked["ses_a"] != 1 {
		t.Errorf("%v, asked for %v", err, asked)
	}
	for path, want := range map[string]bool{a: false, again: false, other: true, nobody: true, odd: true, young: true, foreign: true, dir: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := o.Remove("ses_a", nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(young); err == nil {
		t.Error("a file of the session that is removed stays")
	}
}

// A managed file is read in pieces that end at characters, from either end; nothing else is read.
func TestReadOutput(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	c := NewCapture(o, Limits{}, nil)
	path, err := c.Keep()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("aé€z"))
	for _, tt := range []struct {
		offset int64
		n      int
		want   string
		next   int64
	}{{0, 100, "aé€z", 7}, {0, 2, "a", 1}, {1, 3, "é", 3}, {7, 5, "", 7}, {99, 5, "", 99}, {-2, 5, "z", 7}, {-4, 4, "€z", 7}, {-99, 3, "aé", 3}} {
		text, next, err := o.Read(path, tt.offset, tt.n)
		if err != nil || string(text) != tt.want || next != tt.next {
			t.Errorf("%+v: %q %d %v", tt, text, next, err)
		}
	}
	other := filepath.Join(o.Dir, "other")
	link := filepath.Join(o.Dir, "tool_link")
	if err := errors.Join(os.WriteFile(other, []byte("secret"), 0o600), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, link, "/etc/hostname", filepath.Join(o.Dir, "tool_gone"), "", o.Dir} {
		if text, _, err := o.Read(path, 0, 10); !errors.Is(err, fs.ErrNotExist) || text != nil {
			t.Errorf("%s: %q %v", path, text, err)
		}
	}
}
