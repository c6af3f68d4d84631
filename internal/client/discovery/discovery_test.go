package discovery_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/client/discovery"
)

const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestDiscovery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := discovery.Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything: %v", err)
	}
	want := discovery.Server{PID: 7, Version: "1", Socket: "/s", URL: "http://127.0.0.1:1", Secret: secret, Started: 5}
	for range 2 { // also over an older one
		if err := discovery.Write(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := discovery.Read(dir)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	for path, mode := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, discovery.FileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if err := discovery.Remove(dir, 8); err != nil { // another process's file
		t.Error(err)
	}
	if _, err := discovery.Read(dir); err != nil {
		t.Error("another process took it away")
	}
	if err := discovery.Remove(dir, 7); err != nil {
		t.Error(err)
	}
	if _, err := discovery.Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after all: %v", err)
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "*")); len(rest) != 0 {
		t.Errorf("left behind: %v", rest)
	}
}

// A file that others could have written or read is not trusted, nor a link.
func TestDiscoveryTrustsOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, discovery.FileName)
	other := filepath.Join(dir, "other")
	for name, plant := range map[string]func() error{
		"readable": func() error {
			return errors.Join(os.WriteFile(path, []byte(`{}`), 0o600), os.Chmod(path, 0o644))
		},
		"damaged":   func() error { return os.WriteFile(path, []byte(`{`), 0o600) },
		"directory": func() error { return os.Mkdir(path, 0o700) },
		"link": func() error {
			return errors.Join(os.WriteFile(other, []byte(`{}`), 0o600), os.Symlink(other, path))
		},
	} {
		if err := plant(); err != nil {
			t.Fatal(err)
		}
		if d, err := discovery.Read(dir); err == nil {
			t.Errorf("%s: got %+v", name, d)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Of several processes that create the secret at once, one wins.
func TestTheSecretIsOne(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			s, err := discovery.LoadSecret(dir)
			if err != nil || len(s) != 64 {
				t.Errorf("%q %v", s, err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[s] = true
		})
	}
	wg.Wait()
	if len(seen) != 1 {
		t.Errorf("%d secrets", len(seen))
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "*")); len(rest) != 1 {
		t.Errorf("files: %v", rest)
	}
}

func TestSocketPath(t *testing.T) {
	if p := discovery.SocketPath("/data"); p != "/data/server.sock" {
		t.Errorf("got %s", p)
	}
	long := discovery.SocketPath("/" + strings.Repeat("x", 200))
	if len(long) > 100 || long == discovery.SocketPath("/"+strings.Repeat("y", 200)) {
		t.Errorf("got %s", long)
	}
}

// What a process that was killed while it wrote has left is removed by the next owner.
func TestPartialFilesAreSwept(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"server.json.0123abcd", "server.secret.0123abcd", "server.json.backup"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := discovery.Write(dir, discovery.Server{PID: 1}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != discovery.FileName ||
		entries[1].Name() != "server.json.backup" {
		t.Errorf("left are %v, %v", entries, err)
	}
}
