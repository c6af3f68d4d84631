package terminal

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainTick is the time between two looks at what is left in a pipe. A reader that closes ends it at once.
const drainTick = 10 * time.Millisecond

// AwaitPipe waits until the reader of a pipe has read everything that was written, for the limit at most. If the reader
// closes it before, the error is syscall.EPIPE: what is left in the pipe is lost, although it could be written. Of any
// other output it says nothing.
func AwaitPipe(w io.Writer, limit time.Duration) error {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	var closed error
	err = conn.Control(func(fd uintptr) {
		for range limit / drainTick {
			if !hasUnread(fd) {
				return
			}
			wait := []unix.PollFd{{Fd: int32(fd)}}
			_, _ = unix.Poll(wait, int(drainTick.Milliseconds())) // an interrupted wait is a short one
			if wait[0].Revents&unix.POLLERR == 0 {
				continue
			}
			// The reader is gone: what it has not read by now is lost.
			if hasUnread(fd) {
				closed = syscall.EPIPE
			}
			return
		}
	})
	if err != nil {
		return nil
	}
	return closed
}

// hasUnread reports whether something is left in the pipe.
func hasUnread(fd uintptr) bool {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ) // FIONREAD
	return err == nil && n > 0
}
