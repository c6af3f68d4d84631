package peer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/proctable"
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

// socketHolders is the processes of the user that hold each socket, by inode. After a fork several hold one.
type socketHolders map[uint64][]int

// listSocketHolders reads some thousand files while a caller waits, so it reads directories without allocating per
// entry. It leaves out this process, which holds the other end of each connection.
func (p procFS) listSocketHolders() socketHolders {
	found := socketHolders{}
	root, err := os.Open(p.root)
	if err != nil {
		return found
	}
	defer root.Close()
	all, _ := root.Readdirnames(-1) // what was read before an error is still good
	dir := proctable.NewSocketReader()
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == p.self || !isOwnProcess(int(root.Fd()), name) {
			continue
		}
		dir.ListSockets(int(root.Fd()), name, func(inode uint64) {
			if !slices.Contains(found[inode], pid) {
				found[inode] = append(found[inode], pid)
			}
		})
	}
	return found
}

// markScans is how often the marks of all processes are read at most, to find twice that no tool runs: processes that
// exit during a scan make it say nothing.
const markScans = 8

// classifyHidden returns the identity of a peer whose socket no process is seen to hold, from scans of the processes of
// the socket's user (see scanMarks): remote, so that a credential decides, if one of them can be it, and two scans find
// none that may be one of a tool.
func classifyHidden(scan func() (hidden, tools, exited bool)) Identity {
	clean := 0
	for range markScans {
		hidden, tools, exited := scan()
		if !hidden || tools {
			return Unknown
		}
		if !exited {
			clean++
		}
		if clean == 2 {
			return Remote
		}
	}
	return Unknown
}

// scanMarks reads the marks of all processes of a user. hidden: the files of one cannot be read, because the user is
// another one, or because it is not dumpable; never for root, who reads all of its own. tools: one has a mark. exited:
// marks are unknown.
func (p procFS) scanMarks(uid int) (hidden, tools, exited bool) {
	root, err := os.Open(p.root)
	if err != nil {
		return false, true, true
	}
	defer root.Close()
	all, err := root.Readdirnames(-1)
	exited = err != nil
	foreign := uid != os.Getuid()
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		switch {
		case err != nil || pid == p.self:
			continue
		case foreign && !p.isProcessOf(pid, uid):
			continue
		case !foreign && errors.Is(unix.Kill(pid, 0), unix.EPERM): // another user's
			continue
		}
		mark, ok := p.callMark(pid)
		exited = exited || !ok
		tools = tools || ok && mark < p.own
		hidden = hidden || ok && (foreign || os.Getuid() != 0 && !isOwnProcess(int(root.Fd()), name))
	}
	return hidden, tools, exited
}

// isProcessOf reports whether the process has the user id, real, effective or saved.
func (p procFS) isProcessOf(pid, uid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("%s/%d/status", p.root, pid))
	_, line, _ := strings.Cut(string(text), "\nUid:")
	line, _, _ = strings.Cut(line, "\n")
	return slices.Contains(strings.Fields(line), strconv.Itoa(uid))
}

// holdsSocket reports whether the process holds the socket. This process is its own client at times.
func (p procFS) holdsSocket(pid int, inode uint64) (found bool) {
	dir := proctable.NewSocketReader()
	dir.ListSockets(unix.AT_FDCWD, p.root+"/"+strconv.Itoa(pid), func(i uint64) { found = found || i == inode })
	return found
}

func isOwnProcess(root int, pid string) bool {
	var st unix.Stat_t
	return unix.Fstatat(root, pid, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && int(st.Uid) == os.Getuid()
}
