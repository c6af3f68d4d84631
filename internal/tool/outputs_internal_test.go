package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Old files are removed while the program runs, once enough output was written.
func TestWritesRemoveOldFiles(t *testing.T) {
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
	}{{o.maxAll() / 8, true}, {1, false}} {
		o.countWritten(t.Context(), step.bytes)
		if _, err := os.Stat(old); (err == nil) != step.kept {
			t.Errorf("after %d bytes more: %v", step.bytes, err)
		}
	}
}

// A file that is being written is not removed, however old it is and however much was written since.
func TestRemoveOldKeepsOpenFiles(t *testing.T) {
	o := &Outputs{Dir: t.TempDir(), File: 1 << 20}
	c, long := NewCapture(o, Limits{}, nil), time.Now().Add(-2*OutputAge)
	path, err := c.KeepAll()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("ready\n"))
	for range 5 {
		other := NewCapture(o, Limits{}, nil)
		_, _ = other.Write(make([]byte, 1<<20))
		_ = other.Finish(t.Context())
	}
	for _, step := range []struct{ running, kept bool }{{true, true}, {false, false}} {
		if !step.running {
			_ = c.Finish(t.Context())
		}
		if err := errors.Join(os.Chtimes(path, long, long), o.RemoveOld(t.Context(), time.Now())); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != step.kept {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// If the disk is full, the file keeps the beginning, and the end if it fits; if that fails as well, the file is
// removed.
func TestSpoolOnFullDisk(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	s, err := o.newSpool("", 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.write(make([]byte, 1000)), s.handleFull(errors.New("no space"))); err != nil {
		t.Fatal(err)
	}
	missing, err := s.finish(t.Context(), 5000, []byte("the end"))
	if err != nil || missing != 5000-(1000-64)-7 {
		t.Fatalf("%d %v", missing, err)
	}
	kept, err := os.ReadFile(s.path())
	if err != nil || !strings.HasSuffix(string(kept), "not kept here: the disk took no more.]\n\nthe end") ||
		kept[0] != 0 {
		t.Errorf("%q %v", kept, err)
	}
	if s, err = o.newSpool("", 64); err != nil {
		t.Fatal(err)
	}
	_ = s.file.Close()
	if err := s.write([]byte("x")); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(s.path()); err == nil || o.isOpen(filepath.Base(s.path())) {
		t.Error("the file is still there")
	}
}

// Only files of the folder are removed, whatever paths a log contains.
func TestRemoveKeepsToItsFolder(t *testing.T) {
	o := &Outputs{Dir: filepath.Join(t.TempDir(), "out")}
	f, err := o.createFile("ses_a")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "tool_x")
	other := filepath.Join(o.Dir, "other")
	if err := errors.Join(f.Close(), os.WriteFile(elsewhere, nil, 0o600), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := o.Remove(
		"ses_b", []string{elsewhere, other, f.Name(), f.Name(), filepath.Join(o.Dir, "..", "tool_y")},
		func(owner session.ID) (bool, error) { return owner == "ses_a", nil },
	); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{f.Name(): false, elsewhere: true, other: true} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Files of removed sessions are removed; other files and files without a session stay.
func TestRemoveOrphans(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	made := func(id session.ID) string {
		f, err := o.createFile(id)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	a, again, other, unowned, odd, young := made("ses_a"), made("ses_a"), made("ses_a-b"), made(""), made("ses_:"),
		made("ses_a")
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
			return true, errors.New("unknown")
		}
		return id == "ses_a", nil
	})
	if err == nil || len(asked) != 2 || asked["ses_a"] != 1 {
		t.Errorf("%v, asked for %v", err, asked)
	}
	for path, want := range map[string]bool{
		a: false, again: false, other: true, unowned: true, odd: true, young: true, foreign: true, dir: true,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	isUnused := func(owner session.ID) (bool, error) { return owner == "ses_a", nil }
	if err := o.Remove("ses_a", []string{a, other}, isUnused); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(young); err == nil {
		t.Error("a file of the session that is removed stays")
	}
}

// A managed file is read in pieces that end at characters, from both ends; other files are not read.
func TestReadOutput(t *testing.T) {
	o := &Outputs{Dir: t.TempDir()}
	c := NewCapture(o, Limits{}, nil)
	path, err := c.KeepAll()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("aé€z"))
	for _, tt := range []struct {
		offset int64
		n      int
		want   string
		next   int64
	}{
		{0, 100, "aé€z", 7},
		{0, 2, "a", 1},
		{1, 3, "é", 3},
		{7, 5, "", 7},
		{99, 5, "", 99},
		{-2, 5, "z", 7},
		{-4, 4, "€z", 7},
		{-99, 3, "aé", 3},
	} {
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
