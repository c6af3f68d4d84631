package search

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openBeneath opens name below the directory at in one system call that follows no links. ok is false if the kernel
// does not support it.
func openBeneath(at *os.File, name string) (f *os.File, ok bool, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd := -1
	raw, err := at.SyscallConn()
	if err != nil {
		return nil, false, err
	}
	if ctl := raw.Control(func(dir uintptr) { fd, err = unix.Openat2(int(dir), name, &how) }); ctl != nil {
		return nil, false, ctl
	}
	switch {
	// an old kernel, or a seccomp filter that does not know the call
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return nil, false, nil
	case err != nil:
		return nil, true, &os.PathError{Op: "open", Path: name, Err: err}
	default:
		return os.NewFile(uintptr(fd), name), true, nil
	}
}
