package snapshot

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// SN-4: nothing is written, made or removed through a link, also through one that replaces a directory meanwhile.
func TestRestoreFollowsNoLink(t *testing.T) {
	p := newDirectory(t)
	p.write("target/gone", "old\n")
	p.write("hold/gone", "old\n")
	gone := p.states([]session.FilePath{"target/gone"})[0]
	kept, err := p.Put(t.Context(), []byte("text\n"), session.ModeFile)
	if err != nil {
		t.Fatal("store the content:", err)
	}
	a := filepath.Join(p.root, "a")
	link := func() error { return os.Symlink("target", a) }
	if err := link(); err != nil {
		t.Fatal("make the link:", err)
	}
	writes := []session.FileChange{{Path: "a/new/file", After: kept}, {Path: "a/file", After: kept}}
	for i, err := range p.Restore(t.Context(), writes) {
		if err == nil {
			t.Errorf("%s was written through a link", writes[i].Path)
		}
	}
	done, hold := make(chan struct{}), filepath.Join(p.root, "hold")
	var flips sync.WaitGroup
	flips.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Remove(a)
			_ = os.Rename(hold, a)
			_ = os.Rename(a, hold)
			_ = link()
		}
	})
	changes := append(writes, session.FileChange{Path: "a/gone", Before: gone})
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && !t.Failed(); {
		p.Restore(t.Context(), changes)
		entries, err := os.ReadDir(filepath.Join(p.root, "target"))
		if err != nil || len(entries) != 1 || entries[0].Name() != "gone" {
			t.Errorf("the directory behind the link has %v (%v)", entries, err)
		}
		_ = os.RemoveAll(filepath.Join(hold, "new"))
		_ = os.Remove(filepath.Join(hold, "file"))
		_ = os.WriteFile(filepath.Join(hold, "gone"), []byte("old\n"), 0o600)
	}
	close(done)
	flips.Wait()
}
