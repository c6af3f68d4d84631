package exec

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// renameFrom renames a file, a link or a directory of parent, whatever the path of parent leads to now.
func renameFrom(parent *os.Root, name, to string) error {
	dir, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return unix.Renameat(int(dir.Fd()), name, unix.AT_FDCWD, to)
}

// changeTime returns what changes with every change of a file, and cannot be set back.
func changeTime(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime().String()
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Ctim)
}
