package exec

import (
	"fmt"
	"io/fs"
	"syscall"
)

// changeTime returns what changes with every change of a file, and cannot be set back.
func changeTime(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime().String()
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Ctim)
}
