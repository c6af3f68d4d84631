package peer

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// ConnectedProcess is the process that connected to a unix socket. It stays the same process if its pid is used again.
type ConnectedProcess struct {
	PID   int
	file  *os.File // a pidfd; nil before Linux 5.3
	start string   // field of /proc/PID/stat; without a pidfd
}

// Close releases the handle.
func (h ConnectedProcess) Close() { _ = h.file.Close() }

// isAlive reports whether the process has not exited.
func (h ConnectedProcess) isAlive() bool {
	if h.file == nil {
		return h.start != "" && readStartTime(h.PID) == h.start
	}
	raw, err := h.file.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	_ = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		alive = n == 0 && err == nil
	})
	return alive
}

// ReadCredentials asks the kernel which process is at the other end: the one that connected, or for the end that
// connected, the one that listens. sameUser tells whether it is one of this user.
func ReadCredentials(c *net.UnixConn) (h ConnectedProcess, sameUser bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return h, false
	}
	var cred *unix.Ucred
	// A pidfd names the process even after its end; without one, its start time tells it from a later one.
	pidfd, exited := -1, false
	cerr := raw.Control(func(fd uintptr) {
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil || cred.Pid == 0 {
			return
		}
		var perr error
		pidfd, perr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
		exited = perr != nil && !errors.Is(perr, unix.ENOPROTOOPT) // its pid may be another process's
		if errors.Is(perr, unix.ENOPROTOOPT) {                     // before Linux 6.5
			pidfd, perr = unix.PidfdOpen(int(cred.Pid), 0)
		}
		if perr != nil {
			pidfd = -1
		}
	})
	if cerr != nil || err != nil {
		return h, false
	}
	// Without either, another process that got the same pid looks the same.
	h.PID = int(cred.Pid)
	if pidfd >= 0 {
		h.file = os.NewFile(uintptr(pidfd), "peer")
	} else if !exited {
		h.start = readStartTime(h.PID)
	}
	return h, int(cred.Uid) == os.Getuid()
}

// CheckMark returns an error unless no tool started the process. If this process is itself one of a tool, the other
// processes of the same call pass.
func (h ConnectedProcess) CheckMark() error {
	mark, ok := proctable.CallMark(h.PID)
	switch {
	case h.PID == 0:
		return ErrHidden
	case ok && mark < proctable.OwnCallMark():
		return ErrTool
	case !ok || !h.isAlive():
		return ErrExited
	default:
		return nil
	}
}

// lacksDescriptors reports whether this process can open fewer files than a look at a peer needs.
func lacksDescriptors() bool {
	const needed = 4
	for range needed {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
		}
		defer func() { _ = unix.Close(fd) }()
	}
	return false
}

// procFS asks the kernel about sockets and processes as this process sees them.
type procFS struct {
	root     string // of /proc
	self     int
	own      uint64                               // the call mark of this process: a tool may have started it
	callMark func(pid int) (mark uint64, ok bool) // proctable.CallMark

	querySocket func(own, peer netip.AddrPort) (socket, error)
	tables      *sharedScan[map[string]socket] // where the kernel does not answer about one socket
	holders     *sharedScan[socketHolders]
	others      *sharedScan[map[int]markScan]
}

func newProcFS() procFS {
	return procFS{
		"/proc", os.Getpid(), proctable.OwnCallMark(), proctable.CallMark, querySocket,
		&sharedScan[map[string]socket]{}, &sharedScan[socketHolders]{}, &sharedScan[map[int]markScan]{},
	}
}

// identifyProcess returns the identity of a process that connected to a unix socket. It must be alive after the look at
// it: a process that has exited may have left the connection to another one.
func (p procFS) identifyProcess(h ConnectedProcess, toolProcess func(int) bool) Identity {
	if h.PID == 0 { // of a process namespace that this process does not see
		return Unknown
	}
	who := p.classifyProcess(h.PID, toolProcess)
	if who == User && !h.isAlive() {
		return Unknown
	}
	return who
}

// identifyHolder returns the identity of the processes that hold the socket at addr, which is connected to peer. One
// process of a tool makes it a tool's. If no process is seen to hold the socket, it can be on its way between two
// processes, or with one that cannot be inspected: then the peer is unknown as long as any process of a tool runs as
// the socket's user. The socket of another user, whose processes cannot be inspected, is remote at most: a tool can
// become other users that the system lends to this one (newuidmap(1), su(1)).
func (p procFS) identifyHolder(addr, peer net.Addr, toolProcess func(int) bool) Identity {
	s, ok := p.findPeerSocket(addr, peer)
	if !ok {
		return Unknown
	}
	for range holderScans {
		pids := p.holders.Run(p.listSocketHolders)[s.inode]
		isSelf := len(pids) == 0 && p.holdsSocket(p.self, s.inode)
		switch {
		case isSelf && toolProcess(p.self):
			return Remote
		case isSelf:
			pids = []int{p.self}
		case len(pids) == 0:
			return classifyHidden(func() (hidden, tools, exited bool) { return p.scanMarks(s.uid) })
		}
		switch who := p.classifyHolders(pids, s.inode, toolProcess); {
		case who == User && s.uid != os.Getuid():
			return Remote
		case who != Unknown:
			return who
		}
	}
	return Unknown
}

// holderScans is the number of scans for the holders of a socket: a client that starts programs holds its sockets twice
// for a moment, until the new process executes its program.
const holderScans = 4

// classifyHolders returns Tool if any of the processes is one of a tool, User if all are the user's and still hold the
// socket: the PID of one that has exited may be another process's.
func (p procFS) classifyHolders(pids []int, inode uint64, toolProcess func(int) bool) Identity {
	all := User
	for _, pid := range pids {
		switch who := p.classifyProcess(pid, toolProcess); {
		case who == Tool:
			return Tool
		case who != User || !p.holdsSocket(pid, inode):
			all = Unknown
		}
	}
	return all
}

// findPeerSocket returns the socket with the addresses, if a process holds it.
func (p procFS) findPeerSocket(addr, peer net.Addr) (socket, bool) {
	a, okA := addr.(*net.TCPAddr)
	b, okB := peer.(*net.TCPAddr)
	if !okA || !okB {
		return socket{}, false
	}
	s, ok := p.findSocket(a.AddrPort(), b.AddrPort())
	return s, ok && s.connected && s.inode != 0
}

// findSocket returns the socket with these addresses.
func (p procFS) findSocket(own, peer netip.AddrPort) (socket, bool) {
	s, err := p.querySocket(own, peer)
	if err == nil {
		return s, true
	}
	if errors.Is(err, unix.ENOENT) {
		if _, err := p.querySocket(peer, own); err == nil {
			return socket{}, false // it knows our end of the connection, so the other one is gone, or never was here
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		key := formatProcAddress(table, own) + " " + formatProcAddress(table, peer)
		if s, ok := p.tables.Run(p.readConnections)[key]; ok {
			return s, true
		}
	}
	return socket{}, false
}

// maxAncestors bounds a walk to the root of the process tree.
const maxAncestors = 256

// classifyProcess returns whether the process belongs to a tool call: it has a call mark, which every descendant of a
// command inherits, it descends from this process, whose children are all tools, or toolProcess says so of it or of an
// ancestor. A process that exits meanwhile is unknown, and
// so is one whose mark cannot be read.
func (p procFS) classifyProcess(pid int, toolProcess func(int) bool) Identity {
	if pid == p.self {
		return User
	}
	switch mark, ok := p.callMark(pid); {
	case !ok:
		return Unknown
	case mark < p.own:
		return Tool
	}
	for range maxAncestors {
		switch {
		case pid == p.self || toolProcess(pid):
			return Tool
		case pid <= 1:
			return User
		}
		parent, ok := p.parentPID(pid)
		if !ok {
			return Unknown
		}
		pid = parent
	}
	return Tool
}

func (p procFS) parentPID(pid int) (int, bool) {
	fields := readStat(p.root, pid)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// readStartTime returns when a process started, as text; "" if it does not exist.
func readStartTime(pid int) string {
	const startTime = 19 // starttime is field 22 of proc_pid_stat(5)
	fields := readStat("/proc", pid)
	if len(fields) <= startTime {
		return ""
	}
	return fields[startTime]
}

// readStat returns the fields of /proc/PID/stat behind the name, which may hold anything.
func readStat(root string, pid int) []string {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", root, pid))
	if err != nil {
		return nil
	}
	_, rest, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return strings.Fields(string(rest))
}
