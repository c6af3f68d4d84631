package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// A deletion names the followed mirror if it still has the session after a moment: its session file, or texts only, also
// without the file that marks it as a mirror.
func TestDeletionNamesAStuckMirror(t *testing.T) {
	home, _ := newMirroredHome(t, "true")
	dir := filepath.Join(home, "data", "mirror", "opencode")
	o := optionsOf(home)
	id := talkOnce(t, o)
	find := func() (found []string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			var err error
			if found, err = (Host{}).FindCopies(t.Context(), o, &session.Session{ID: id}); err != nil {
				t.Error(err)
			}
		})
		return found
	}
	// No process follows: as with a mirror that cannot be written.
	for _, removed := range []string{"", jsontree.MirrorMarker, filepath.Join("session", "global", string(id)+".json")} {
		if removed != "" {
			if err := os.Remove(filepath.Join(dir, "storage", removed)); err != nil {
				t.Fatal(err)
			}
		}
		if found := find(); len(found) != 1 || !strings.Contains(found[0], dir) || !strings.Contains(found[0], "fsck --mirror") {
			t.Errorf("without %q: %q", removed, found)
		}
	}
	// A mirror without the session is not named.
	if err := os.RemoveAll(filepath.Join(dir, "storage", "message", string(id))); err != nil {
		t.Fatal(err)
	}
	if found := find(); len(found) != 0 {
		t.Errorf("a mirror without the session: %q", found)
	}
}

// The start of an owner does not write the list of copies again if its mirror is the newest one.
func TestRecordCopyOnce(t *testing.T) {
	dirs := config.Directories{Data: t.TempDir()}
	file := filepath.Join(dirs.Data, copiesFile)
	record := func(kind, path string) os.FileInfo {
		t.Helper()
		if err := recordCopy(t.Context(), dirs, kind, path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := record(kindMirror, "/a")
	if again := record(kindMirror, "/a"); !os.SameFile(first, again) {
		t.Error("the same mirror was written again")
	}
	// Anything else is added.
	record(kindBackup, "/b")
	record(kindMirror, "/a")
	record(kindBackup, "/b")
	list, err := readCopies(file)
	if err != nil || len(list) != 2 || list[0].Path != "/a" || list[1].Path != "/b" {
		t.Errorf("the list: %+v, %v", list, err)
	}
}
