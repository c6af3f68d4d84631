package snapshot

import (
	"io/fs"
	"os"
	"syscall"
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

// changeTime returns when the content or the metadata of the file changed last, in nanoseconds. Programs cannot set it.
func changeTime(info fs.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return time.Unix(st.Ctim.Unix()).UnixNano()
}
