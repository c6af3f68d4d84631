package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/session"
)

// newMirroredHome makes a home with a mirror; value is the JSON value of storage.mirror.
func newMirroredHome(t *testing.T, value string) (home string, v *vendor) {
	t.Helper()
	home, v = newHome(t)
	close(v.released)
	path := filepath.Join(home, "config", "cairn.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(text), "{", fmt.Sprintf(`{"storage": {"mirror": %s},`, value), 1))
	return home, v
}

// listMirror returns the files of a mirror that name the session or hold its text, by name.
func listMirror(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "migration" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// talkOnce runs one process that creates a session and gets an answer.
func talkOnce(t *testing.T, o client.Options) session.ID {
	t.Helper()
	c := open(t, o)
	id := create(t, c, "mirrored")
	talk(t, c, id)
	closeIt(t, c)
	return id
}

// TestMirror: sessions are in the mirror when the process ends, an edited mirror is repaired, and a deleted session is
// removed by the next process, also if the mirror was off meanwhile.
func TestMirror(t *testing.T) {
	home, _ := newMirroredHome(t, "true")
	dir := filepath.Join(home, "data", "mirror", "opencode")
	o := optionsOf(home)
	id := talkOnce(t, o)
	before := listMirror(t, dir)
	said := false
	for _, text := range before {
		said = said || strings.Contains(text, "Hello.")
	}
	if before["storage/session/global/"+string(id)+".json"] == "" || !said {
		t.Fatalf("the mirror has %v", before)
	}
	if code, said := typed(t, o, "doctor"); !strings.Contains(said, "mirror: "+dir) {
		t.Errorf("doctor: exit %d: %s", code, said)
	}
	// Edit every file.
	for name := range before {
		write(t, filepath.Join(dir, name), "{}")
	}
	write(t, filepath.Join(dir, "storage", "mine.txt"), "mine")
	code, said2 := typed(t, o, "fsck", "--mirror")
	if code != 0 || !strings.Contains(said2, fmt.Sprintf("%d files were written again", len(before))) ||
		!strings.Contains(said2, "storage/mine.txt is not of the mirror") {
		t.Errorf("fsck: exit %d: %s", code, said2)
	}
	for name, text := range listMirror(t, dir) {
		if before[name] != text && name != "storage/mine.txt" {
			t.Errorf("%s is %s", name, text)
		}
	}
	// Delete while it is off.
	path := filepath.Join(home, "config", "cairn.json")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(config), `"mirror": true`, `"mirror": false`, 1))
	// What keeps it is named: the mirror that is not followed any more, and a backup, not one that is gone.
	backup, gone := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "gone.db")
	for _, file := range []string{backup, gone} {
		if code, said := typed(t, o, "backup", file); code != 0 {
			t.Fatalf("backup: exit %d: %s", code, said)
		}
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	code, said3 := typed(t, o, "session", "delete", "--yes", string(id))
	if code != 0 || !strings.Contains(said3, "the mirror "+dir) || !strings.Contains(said3, "the backup "+backup) ||
		strings.Contains(said3, gone) {
		t.Fatalf("delete: exit %d: %s", code, said3)
	}
	if code, said := typed(t, o, "fsck", "--mirror"); code == 0 || !strings.Contains(said, "are not mirrored") {
		t.Errorf("fsck without a mirror: exit %d: %s", code, said)
	}
	write(t, path, string(config))
	second := talkOnce(t, o)
	for name, text := range listMirror(t, dir) {
		if strings.Contains(name+text, string(id)) {
			t.Errorf("%s is left", name)
		}
	}
	if listMirror(t, dir)["storage/session/global/"+string(second)+".json"] == "" {
		t.Error("the second session is missing")
	}
	// The mirror that is followed removes it by itself, and the backup is older.
	if code, said := typed(t, o, "session", "delete", "--yes", string(second)); code != 0 || strings.Contains(said, "may keep it") {
		t.Errorf("delete: exit %d: %s", code, said)
	}
}

// TestMirrorCannotBeWritten: sessions go on, doctor says what is wrong, and the folder stays as it is.
func TestMirrorCannotBeWritten(t *testing.T) {
	for name, c := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"a file":      {func(dir string) error { return os.WriteFile(dir, []byte("x"), 0o600) }, "is not a folder"},
		"below one":   {func(dir string) error { return os.WriteFile(filepath.Dir(dir), nil, 0o600) }, "not a directory"},
		"of OpenCode": {func(dir string) error { return os.MkdirAll(filepath.Join(dir, "storage", "session"), 0o700) }, "empty folder"},
	} {
		dir := filepath.Join(t.TempDir(), "below", "mirror")
		if name != "below one" {
			if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.make(dir); err != nil {
			t.Fatal(err)
		}
		home, _ := newMirroredHome(t, fmt.Sprintf("%q", dir))
		o := optionsOf(home)
		talkOnce(t, o)
		code, said := typed(t, o, "doctor")
		if !strings.Contains(said, "sessions are not mirrored") || !strings.Contains(said, c.want) ||
			!strings.Contains(said, "storage.mirror") {
			t.Errorf("%s: doctor: exit %d: %s", name, code, said)
		}
		code, said = typed(t, o, "fsck", "--mirror")
		if code == 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s: fsck: exit %d: %s", name, code, said)
		}
	}
}
