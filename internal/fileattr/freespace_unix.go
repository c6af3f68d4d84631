//go:build linux || darwin

package fileattr

import "syscall"

// FreeSpace returns the free bytes of the disk of a path; ok is false if they are unknown.
func FreeSpace(path string) (bytes int64, ok bool) {
	var s syscall.Statfs_t
	err := syscall.Statfs(path, &s)
	return int64(s.Bavail) * int64(s.Bsize), err == nil
}
