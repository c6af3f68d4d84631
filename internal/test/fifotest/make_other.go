//go:build !unix

package fifotest

import "testing"

// Make creates a named pipe. It skips the test on a system without them.
func Make(t testing.TB, _ string) {
	t.Helper()
	t.Skip("this system has no named pipes in its file system")
}
