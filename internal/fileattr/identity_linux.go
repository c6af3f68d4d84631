package fileattr

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ReadIdentity returns a text that names a file or directory, however its path changes, and no later one that gets its
// inode: device, inode and time of birth. It is "" if the file system does not tell all of them, or there is no file.
func ReadIdentity(path string) string {
	var st unix.Statx_t
	const mask = unix.STATX_INO | unix.STATX_BTIME
	if err := unix.Statx(unix.AT_FDCWD, path, 0, mask, &st); err != nil || st.Mask&mask != mask {
		return ""
	}
	return fmt.Sprintf("%x:%x:%x:%x.%x", st.Dev_major, st.Dev_minor, st.Ino, st.Btime.Sec, st.Btime.Nsec)
}
