//go:build unix

package fifotest

import (
	"syscall"
	"testing"
)

// Make creates a named pipe. It skips the test on a system without them.
func Make(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("the file system has no named pipes: ", err)
	}
}
