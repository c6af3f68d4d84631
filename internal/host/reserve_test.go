package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/searchindex"
)

// The search index makes room first, then the reserve; each once.
func TestMakeRoom(t *testing.T) {
	data := t.TempDir()
	if free, ok := fileattr.FreeSpace(data); !ok || free < minFreeDisk+reserveBytes {
		t.Skip("the disk is nearly full")
	}
	drop := func() error { return searchindex.Remove(data) }
	for range 2 {
		if err := keepReserve(data); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(data, "reserve"))
	if err != nil || info.Size() != reserveBytes || info.Mode().Perm() != 0o600 {
		t.Fatalf("the reserve is %v, error %v", info, err)
	}
	write(t, searchindex.File(data), "x")
	if !makeRoom(data, drop) {
		t.Error("the index makes no room")
	}
	if _, err := os.Stat(filepath.Join(data, "reserve")); err != nil {
		t.Errorf("the reserve went before the index was enough: %v", err)
	}
	if !makeRoom(data, drop) {
		t.Error("the reserve makes no room")
	}
	if makeRoom(data, drop) {
		t.Error("nothing makes room")
	}
	// A reserve that was not allocated is made anew.
	write(t, filepath.Join(data, "reserve"), "")
	if err := keepReserve(data); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(data, "reserve")); err != nil || info.Size() != reserveBytes {
		t.Fatalf("an empty reserve became %v, error %v", info, err)
	}
	if !makeRoom(data, drop) {
		t.Error("the reserve makes no room again")
	}
	// An index that cannot be removed is passed over.
	if err := keepReserve(data); err != nil {
		t.Fatal(err)
	}
	write(t, searchindex.File(data), "x")
	if !makeRoom(data, func() error { return errors.New("it is held") }) {
		t.Error("the reserve makes no room beside an index that is held")
	}
}
