//go:build unix

package discovery

import (
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes opening a symbolic link an error.
const noFollow = syscall.O_NOFOLLOW

func isOwnedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// isExposed reports whether other users may read or write the file.
func isExposed(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
