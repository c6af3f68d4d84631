package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// smallDisk returns a file system of a megabyte; the test is skipped where none can be mounted.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A full disk refuses what it cannot store, shows what it has, and works when there is room again (G2, G11).
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t)
	dir := filepath.Join(disk, "data")
	s := open(t, dir)
	fill(t, s, 1, 5)
	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if err := f.Close(); err != nil {
		t.Log(err)
	}
	acked := int64(4)
	for range 300 {
		if err = s.Update(t.Context(), store.Durable, appendOne("ses_0")); err != nil {
			break
		}
		acked++
	}
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUncertain) {
		t.Fatalf("with a full disk: %v", err)
	}
	if rows := eventsOf(t, s, "ses_0"); int64(len(rows)) != acked+1 {
		t.Errorf("%d events, %d were acknowledged", len(rows), acked+1)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	s, err = Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatalf("opening on a full disk: %v", err)
	}
	if rows := eventsOf(t, s, "ses_0"); int64(len(rows)) != acked+1 {
		t.Errorf("%d events, %d were acknowledged", len(rows), acked+1)
	}
	if s.DegradedError() == nil { // it could be opened for writing: then it writes when there is room
		err := errors.Join(os.Remove(ballast), s.Update(t.Context(), store.Durable, appendOne("ses_0")))
		if err != nil {
			t.Errorf("with room again: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A file system that is read-only from the beginning, or becomes so, is read from.
func TestReadOnlyDisk(t *testing.T) {
	disk := smallDisk(t)
	s := open(t, disk)
	fill(t, s, 1, 5)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	s, err := Open(t.Context(), Config{Dir: disk})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if rows := eventsOf(t, s, "ses_0"); len(rows) != 5 {
		t.Errorf("%d events", len(rows))
	}
	if err := s.Update(t.Context(), store.Durable, appendOne("ses_0")); !errors.Is(err, store.ErrReadOnly) ||
		!errors.Is(err, store.ErrUnavailable) {
		t.Errorf("update: %v", err)
	}
}
