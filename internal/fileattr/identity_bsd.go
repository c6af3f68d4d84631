//go:build darwin || freebsd

package fileattr

import (
	"fmt"
	"syscall"
)

// ReadIdentity returns a text that names a file or directory, however its path changes, and no later one that gets its
// inode: device, inode and time of birth. It is "" if the file system does not tell all of them, or there is no file.
func ReadIdentity(path string) string {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil || st.Birthtimespec.Sec <= 0 {
		return ""
	}
	return fmt.Sprintf("%x:%x:%x.%x", st.Dev, st.Ino, st.Birthtimespec.Sec, st.Birthtimespec.Nsec)
}
