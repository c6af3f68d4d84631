//go:build unix

package file

import (
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives the file the owner of the one it replaces. Without the right to do so it stays ours.
func copyOwner(dir *os.Root, name string, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	_ = dir.Lchown(name, int(st.Uid), int(st.Gid))
}

// countLinks is how many names a regular file has, 0 if it is none.
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
