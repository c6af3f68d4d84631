//go:build unix

package fileattr

import (
	"io/fs"
	"os"
	"syscall"
)

// CopyOwner gives a file the owner and the group of another one, if this process has the right to.
func CopyOwner(dir *os.Root, name string, like fs.FileInfo) {
	st, ok := like.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = dir.Lchown(name, int(st.Uid), int(st.Gid))
}

// CountLinks returns the number of hard links of a regular file, 0 for every other file.
func CountLinks(info fs.FileInfo) uint64 {
	if info == nil || !info.Mode().IsRegular() {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}
