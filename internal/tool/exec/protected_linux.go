package exec

import (
	"fmt"
	"io/fs"
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
