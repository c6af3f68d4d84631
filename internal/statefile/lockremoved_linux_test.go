package statefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Who waits for a lock whose holder removes the file gets the lock of the new file, which excludes others.
func TestLockOfRemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := statefile.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	locked := make(chan func())
	go func() {
		unlock, err := statefile.Lock(t.Context(), path)
		if err != nil {
			t.Error(err)
		}
		locked <- unlock
	}()
	for countOpen(path) < 2 { // until both have it open
		runtime.Gosched()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	unlock()
	second := <-locked
	defer second()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the lock is of a file that is not there: %v", err)
	}
}

// countOpen returns how often this process has the file open.
func countOpen(path string) (n int) {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, f := range open {
		if to, _ := os.Readlink("/proc/self/fd/" + f.Name()); to == path { // one that is closed by now has none
			n++
		}
	}
	return n
}
