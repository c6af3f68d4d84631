package proctable

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SocketReader reads the directories of open files of processes, one after the other, into the same memory.
type SocketReader struct {
	buf, link []byte
	names     []string
}

// NewSocketReader returns a reader with buffers for directory entries and for the target of one link.
func NewSocketReader() SocketReader {
	return SocketReader{buf: make([]byte, 8<<10), link: make([]byte, 64)}
}

// ListSockets calls tell for each socket of the process pid, a name in the directory root. A process that has exited or
// cannot be read has no sockets.
func (d *SocketReader) ListSockets(root int, pid string, tell func(inode uint64)) {
	fd, err := unix.Openat(root, pid+"/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.ReadDirent(fd, d.buf)
		if err != nil || n <= 0 {
			return
		}
		_, _, d.names = unix.ParseDirent(d.buf[:n], -1, d.names[:0])
		for _, name := range d.names {
			n, err := unix.Readlinkat(fd, name, d.link)
			if err != nil {
				continue
			}
			if inode, ok := parseSocketInode(string(d.link[:n])); ok {
				tell(inode)
			}
		}
	}
}

// parseSocketInode parses the link of an open socket.
func parseSocketInode(link string) (uint64, bool) {
	number, ok := strings.CutPrefix(link, "socket:[")
	number, closed := strings.CutSuffix(number, "]")
	inode, err := strconv.ParseUint(number, 10, 64)
	return inode, ok && closed && err == nil
}
