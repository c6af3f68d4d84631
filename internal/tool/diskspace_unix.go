//go:build linux || darwin

package tool

import (
	"os"
	"syscall"
)

// freeSpace returns the free bytes of the file's disk; ok is false if they are unknown.
func freeSpace(f *os.File) (bytes int64, ok bool) {
	s, ok := statDisk(f)
	return int64(s.Bavail) * int64(s.Bsize), ok
}

// diskSize returns the size of the file's disk, 0 if it is unknown.
func diskSize(f *os.File) int64 {
	s, _ := statDisk(f)
	return int64(s.Blocks) * int64(s.Bsize)
}

func statDisk(f *os.File) (syscall.Statfs_t, bool) {
	var s syscall.Statfs_t
	err := syscall.Fstatfs(int(f.Fd()), &s)
	return s, err == nil
}
