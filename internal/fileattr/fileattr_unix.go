//go:build unix

package fileattr

import (
	"io/fs"
	"os"
	"syscall"
)

// CopyOwner gives the file dir/name, or the link itself, the owner and the group of the file that info describes. It
// does nothing if this process has no right to.
func CopyOwner(dir *os.Root, name string, info fs.FileInfo) {
	st, ok := info.Sys().(*syscall.Stat_t)
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
