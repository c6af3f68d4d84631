//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a new file the owner of the file that it replaces, if this process has the right to.
func copyOwner(dir *os.Root, name string, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = dir.Lchown(name, int(st.Uid), int(st.Gid))
}

// countLinks returns the number of hard links of a regular file, 0 for every other file.
func countLinks(info fs.FileInfo) uint64 {
	if info == nil || !info.Mode().IsRegular() {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink)
}
