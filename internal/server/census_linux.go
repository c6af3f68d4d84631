package server

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// census shares looks at the whole machine among callers who come at the same time, as when a hundred connect at once.
// Nobody gets one that began before the question.
type census[T any] struct {
	looking sync.Mutex // held during a look
	mu      sync.Mutex // guards next
	next    *pending[T]
}

type pending[T any] struct {
	once sync.Once
	seen T
}

func (c *census[T]) after(look func() T) T {
	c.mu.Lock()
	if c.next == nil {
		c.next = &pending[T]{}
	}
	n := c.next
	c.mu.Unlock()
	n.once.Do(func() {
		c.looking.Lock()
		defer c.looking.Unlock()
		c.mu.Lock()
		c.next = nil // whoever comes from now on needs a later one
		c.mu.Unlock()
		n.seen = look()
	})
	return n.seen
}

// count says of every socket among the open files of our user's other processes who has it, by its inode; several share
// one after a fork. It goes through some thousand files while a caller waits, so it reads the directories by hand, and
// leaves out this very process, which has the other end of each connection.
func (p proc) count() map[uint64][]int {
	holders := map[uint64][]int{}
	root, err := os.Open(p.root)
	if err != nil {
		return holders
	}
	defer root.Close()
	all, _ := root.Readdirnames(-1) // what was read before an error is still good
	dir := newFDDir()
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == p.self || !mine(int(root.Fd()), name) {
			continue
		}
		dir.sockets(int(root.Fd()), name, func(inode uint64) {
			if !slices.Contains(holders[inode], pid) {
				holders[inode] = append(holders[inode], pid)
			}
		})
	}
	return holders
}

// mineToo reports whether this process has the socket: it talks to itself.
func (p proc) mineToo(inode uint64) (found bool) {
	dir := newFDDir()
	dir.sockets(unix.AT_FDCWD, p.root+"/"+strconv.Itoa(p.self), func(i uint64) { found = found || i == inode })
	return found
}

func mine(root int, pid string) bool {
	var st unix.Stat_t
	return unix.Fstatat(root, pid, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && int(st.Uid) == os.Getuid()
}

// fdDir reads the directories of processes' open files, one after the other, into the same memory.
type fdDir struct {
	buf, link []byte
	names     []string
}

func newFDDir() fdDir { return fdDir{buf: make([]byte, 8<<10), link: make([]byte, 64)} }

// sockets tells each of the process's sockets. Those of one that is gone, or that may not be looked into, are none.
func (d *fdDir) sockets(root int, pid string, tell func(inode uint64)) {
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
			if inode, ok := socketInode(string(d.link[:n])); ok {
				tell(inode)
			}
		}
	}
}

// socketInode reads what the link of an open socket says.
func socketInode(link string) (uint64, bool) {
	number, ok := strings.CutPrefix(link, "socket:[")
	number, closed := strings.CutSuffix(number, "]")
	inode, err := strconv.ParseUint(number, 10, 64)
	return inode, ok && closed && err == nil
}
