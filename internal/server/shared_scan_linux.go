package server

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// sharedScan shares scans of the whole machine among callers that come at the same time, for example when a hundred
// clients connect at once. A caller never gets a scan that started before its call.
type sharedScan[T any] struct {
	running sync.Mutex // held during a scan
	mu      sync.Mutex // guards next
	next    *scanResult[T]
}

type scanResult[T any] struct {
	once  sync.Once
	value T
}

// Run returns the result of a scan that starts after the call.
func (c *sharedScan[T]) Run(look func() T) T {
	c.mu.Lock()
	if c.next == nil {
		c.next = &scanResult[T]{}
	}
	n := c.next
	c.mu.Unlock()
	n.once.Do(func() {
		c.running.Lock()
		defer c.running.Unlock()
		c.mu.Lock()
		c.next = nil // later callers need a later scan
		c.mu.Unlock()
		n.value = look()
	})
	return n.value
}

// socketHolders is what a look at all processes of the user finds.
type socketHolders struct {
	pids   map[uint64][]int // the processes that hold each socket, by inode; after a fork several hold one
	hidden bool             // there are processes whose open files cannot be read, because they are not dumpable
	tools  bool             // there are processes with a call mark
}

// listSocketHolders reads some thousand files while a caller waits, so it reads directories without allocating per
// entry. It leaves out this process, which holds the other end of each connection.
func (p procFS) listSocketHolders() socketHolders {
	found := socketHolders{pids: map[uint64][]int{}}
	root, err := os.Open(p.root)
	if err != nil {
		return found
	}
	defer root.Close()
	all, _ := root.Readdirnames(-1) // what was read before an error is still good
	dir := newFDReader()
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == p.self {
			continue
		}
		mark, ok := p.callMark(pid)
		own := isOwnProcess(int(root.Fd()), name)
		if !own && !ok { // another user's
			continue
		}
		found.tools = found.tools || !ok || mark < p.own
		if !own {
			found.hidden = found.hidden || os.Getuid() != 0
		} else {
			dir.listSockets(int(root.Fd()), name, func(inode uint64) {
				if !slices.Contains(found.pids[inode], pid) {
					found.pids[inode] = append(found.pids[inode], pid)
				}
			})
		}
	}
	return found
}

// holdsSocket reports whether the process holds the socket. This process is its own client at times.
func (p procFS) holdsSocket(pid int, inode uint64) (found bool) {
	dir := newFDReader()
	dir.listSockets(unix.AT_FDCWD, p.root+"/"+strconv.Itoa(pid), func(i uint64) { found = found || i == inode })
	return found
}

func isOwnProcess(root int, pid string) bool {
	var st unix.Stat_t
	return unix.Fstatat(root, pid, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && int(st.Uid) == os.Getuid()
}

// fdReader reads the directories of open files of processes, one after the other, into the same memory.
type fdReader struct {
	buf, link []byte
	names     []string
}

func newFDReader() fdReader { return fdReader{buf: make([]byte, 8<<10), link: make([]byte, 64)} }

// listSockets calls tell for each socket of the process. A process that has exited or cannot be read has no sockets.
func (d *fdReader) listSockets(root int, pid string, tell func(inode uint64)) {
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
