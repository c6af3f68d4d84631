package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/finding"
)

// On a full disk only a command that deletes takes the reserve, and then it can delete.
func TestOnlyDeletionsTakeTheReserve(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	data := mountData(t, home)
	// Store a session, then fill the disk.
	c := open(t, optionsOf(home))
	id := create(t, c, "one")
	closeIt(t, c)
	if err := keepReserve(data); err != nil {
		t.Fatal(err)
	}
	fillDisk(t, data)
	reserve := reserveFile(data)
	for _, tc := range []struct {
		what    string
		options func(*client.Options)
		kept    bool
	}{
		{"a command that works", func(*client.Options) {}, true},
		{"a command that reads", func(o *client.Options) { o.Read = true }, true},
		{"a command that deletes", func(o *client.Options) { o.Deletes = true }, false},
	} {
		if err := os.Remove(filepath.Join(data, "lease")); err != nil { // the next one needs room
			t.Fatal(err)
		}
		fillDisk(t, data)
		o := optionsOf(home)
		tc.options(&o)
		c := open(t, o)
		if _, err := os.Stat(reserve); (err == nil) != tc.kept {
			t.Errorf("%s: the reserve is left: %v, want %v", tc.what, err == nil, tc.kept)
		}
		if o.Deletes {
			if err := c.API.Delete(t.Context(), id); err != nil {
				t.Errorf("%s: %v", tc.what, err)
			}
		}
		closeIt(t, c)
	}
}

// On a disk that becomes full, requests that delete and are in the audit log take the reserve, and others do not.
func TestRecordedDeletionsTakeTheReserve(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	data := mountData(t, home)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	id := create(t, c, "one")
	for what, request := range map[string]func() error{
		"prune": func() error {
			_, err := c.API.Prune(t.Context(), api.PruneRequest{Sessions: 5})
			return err
		},
		"revoke": func() error {
			_, err := c.API.RevokeShare(t.Context(), id)
			return err
		},
	} {
		if err := keepReserve(data); err != nil {
			t.Fatal(err)
		}
		fillDisk(t, data)
		if _, err := c.API.Vacuum(t.Context(), api.VacuumRequest{}); err == nil {
			t.Error("vacuum: there was room")
		}
		if err := request(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(reserveFile(data)); err == nil {
			t.Errorf("%s: the reserve is left", what)
		}
		if err := os.Remove(filepath.Join(data, "ballast")); err != nil {
			t.Fatal(err)
		}
	}
}

// Doctor says that the disk has too little room for new work.
func TestDoctorOfFullDisk(t *testing.T) {
	home, v := newHome(t)
	close(v.released)
	data := mountData(t, home)
	c := open(t, optionsOf(home))
	defer closeIt(t, c)
	if err := os.WriteFile(filepath.Join(data, "ballast"), make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.API.Create(t.Context(), api.CreateSession{}); err == nil {
		t.Error("new work begins")
	}
	found, err := Host{}.Doctor(t.Context(), optionsOf(home))
	isDisk := func(f finding.Finding) bool {
		return f.What == "disk" && f.Level == finding.Warning && strings.Contains(f.Detail, "less than the 32.0 MiB")
	}
	if err != nil || !slices.ContainsFunc(found, isDisk) {
		t.Errorf("%v, %v", found, err)
	}
}

// mountData mounts a small disk for the data of a home, and returns its directory.
func mountData(t *testing.T, home string) string {
	t.Helper()
	data := filepath.Join(home, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(data, unix.MNT_DETACH) })
	return data
}

// fillDisk writes to a file of the disk until nothing is left.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "ballast"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if f == nil {
		t.Fatal(err)
	}
	_ = f.Close()
}
