package snapshot

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readBirthTime returns when the file was made; moving it does not change that. Where the file system does not know, it
// is the time of the last change.
func readBirthTime(path string) (time.Time, error) {
	var st unix.Statx_t
	const mask = unix.STATX_BTIME | unix.STATX_MTIME
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, mask, &st); err != nil {
		return time.Time{}, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	at := st.Mtime
	if st.Mask&unix.STATX_BTIME != 0 {
		at = st.Btime
	}
	return time.Unix(at.Sec, int64(at.Nsec)), nil
}
