package protected

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ChangeTime returns a comparable value that changes with every change of a file, and cannot be set back.
func ChangeTime(info fs.FileInfo) any {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime()
	}
	return struct {
		dev, ino uint64
		time     syscall.Timespec
	}{st.Dev, st.Ino, st.Ctim}
}

// identifyFile returns what no other file has at the same time.
func identifyFile(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Name()
	}
	return fmt.Sprint(st.Dev, st.Ino)
}

// findOwner returns the user and the group of a file.
func findOwner(info fs.FileInfo) [2]int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return [2]int{os.Getuid(), os.Getgid()}
	}
	return [2]int{int(st.Uid), int(st.Gid)}
}
