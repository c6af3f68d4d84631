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
func (c *sharedScan[T]) Run(scan func() T) T {
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
		n.value = scan()
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

// markScans bounds the scans of all processes' marks. Two of them must find that no tool runs; a scan during which a
// process exits is inconclusive.
const markScans = 8

// classifyHidden returns the identity of a peer if no visible process holds its socket. It scans the processes of the
// socket's user (see scanMarks). The peer is Remote, so that a credential decides, if one of the processes may hide its
// files and two scans find no process of a tool; otherwise it is Unknown.
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

// markScan is the result of reading the marks of a user's processes.
type markScan struct {
	hidden bool // a process hides its files: it is another user's, or it is not dumpable and not root's
	tools  bool // a process has a mark
	exited bool // a mark could not be read, for example of a process that exited
}

// add returns the scan with the mark of another process.
func (s markScan) add(p procFS, pid int, hidden bool) markScan {
	mark, ok := p.callMark(pid)
	return markScan{s.hidden || ok && hidden, s.tools || ok && mark < p.own, s.exited || !ok}
}

// scanMarks reads the marks of all processes of a user.
func (p procFS) scanMarks(uid int) (hidden, tools, exited bool) {
	var s markScan
	if uid != os.Getuid() {
		others := p.others.Run(p.scanOthers)
		s = others[uid]
		s.exited = s.exited || others[incomplete].exited
		return s.hidden, s.tools, s.exited
	}
	all := p.listProcesses(func(root, pid int, name string) {
		if !errors.Is(unix.Kill(pid, 0), unix.EPERM) { // another user's
			s = s.add(p, pid, os.Getuid() != 0 && !isOwnProcess(root, name))
		}
	})
	return s.hidden, s.tools, s.exited || !all
}

// incomplete is the key of scanOthers for what holds for every user.
const incomplete = -1

// scanOthers reads the marks of all processes by their user ids, real, effective and saved. Callers share it, because
// another user may open thousands of connections.
func (p procFS) scanOthers() map[int]markScan {
	found := map[int]markScan{}
	all := p.listProcesses(func(_, pid int, _ string) {
		for _, uid := range slices.Compact(p.listUserIDs(pid)) {
			found[uid] = found[uid].add(p, pid, true)
		}
	})
	found[incomplete] = markScan{exited: !all}
	return found
}

// listProcesses calls visit for each process but this one. all is false if the table cannot be read to its end.
func (p procFS) listProcesses(visit func(root, pid int, name string)) (all bool) {
	root, err := os.Open(p.root)
	if err != nil {
		return false
	}
	defer root.Close()
	names, err := root.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != p.self {
			visit(int(root.Fd()), pid, name)
		}
	}
	return err == nil
}

// listUserIDs returns the user ids of a process, real, effective, saved and of the file system, in order.
func (p procFS) listUserIDs(pid int) (uids []int) {
	text, _ := os.ReadFile(fmt.Sprintf("%s/%d/status", p.root, pid))
	_, line, _ := strings.Cut(string(text), "\nUid:")
	line, _, _ = strings.Cut(line, "\n")
	for field := range strings.FieldsSeq(line) {
		if uid, err := strconv.Atoi(field); err == nil {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
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
