//go:build unix

package exec

import (
	"os"
	"syscall"
	"time"
)

// readAvailable reads what a pipe whose deadline has passed holds, without waiting for more.
func readAvailable(from *os.File, buf []byte) int {
	raw, err := from.SyscallConn()
	if err != nil || from.SetReadDeadline(time.Time{}) != nil {
		return 0
	}
	n := 0
	_ = raw.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), buf); return true }) // n is -1 if there is nothing
	return max(n, 0)
}
