//go:build linux || darwin

package tool

import (
	"os"
	"syscall"
)

// freeSpace is what the file's disk has left for us, and whether that is known.
func freeSpace(f *os.File) (bytes int64, ok bool) {
	s, ok := statDisk(f)
	return int64(s.Bavail) * int64(s.Bsize), ok
}

// diskSize is how much the file's disk holds, 0 if that is not known.
func diskSize(f *os.File) int64 {
	s, _ := statDisk(f)
	return int64(s.Blocks) * int64(s.Bsize)
}

func statDisk(f *os.File) (syscall.Statfs_t, bool) {
	var s syscall.Statfs_t
	err := syscall.Fstatfs(int(f.Fd()), &s)
	return s, err == nil
}
