package server

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

	"github.com/cairn-dev/cairn/internal/tool"
)

// peerCredentials asks the kernel which process connected.
func peerCredentials(c *net.UnixConn) (pid int, sameUser bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *unix.Ucred
	cerr := raw.Control(
		func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) },
	)
	if cerr != nil || err != nil {
		return 0, false
	}
	return int(cred.Pid), int(cred.Uid) == os.Getuid()
}

// procFS asks the kernel about sockets and processes as this process sees them.
type procFS struct {
	root string // of /proc
	self int
	mark string // the value of tool.CallVariable that this process was itself started with

	querySocket func(own, peer netip.AddrPort) (socket, error)
	tables      *sharedScan[map[string]socket] // where the kernel does not answer about one socket
	holders     *sharedScan[map[uint64][]int]
}

func newProcFS() procFS { return newProcFSAt("/proc", os.Getpid(), os.Getenv(tool.CallVariable)) }

func newProcFSAt(root string, self int, mark string) procFS {
	return procFS{root, self, mark, querySocket, &sharedScan[map[string]socket]{}, &sharedScan[map[uint64][]int]{}}
}

// findOwners returns the processes of the user that hold the socket with the addresses. It returns none if the
// socket belongs to another user or is not found.
func (p procFS) findOwners(addr, peer net.Addr) []int {
	a, okA := addr.(*net.TCPAddr)
	b, okB := peer.(*net.TCPAddr)
	if !okA || !okB {
		return nil
	}
	s, ok := p.findSocket(a.AddrPort(), b.AddrPort())
	if !ok || !s.connected || s.inode == 0 || s.uid != os.Getuid() {
		return nil
	}
	pids := p.holders.Run(p.listSocketHolders)[s.inode]
	if len(pids) == 0 && p.holdsSocket(s.inode) {
		return []int{p.self}
	}
	return pids
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
		if s, ok := p.tables.Run(p.readConnections)[formatProcAddress(table, own)+" "+formatProcAddress(table, peer)]; ok {
			return s, true
		}
	}
	return socket{}, false
}

// maxAncestors bounds a walk to the root of the process tree.
const maxAncestors = 256

// isFromTool reports whether the process or one of its ancestors belongs to a tool call: toolProcess says so, its
// environment has the mark, or it descends from this process, whose children are all tools.
func (p procFS) isFromTool(pid int, toolProcess func(int) bool) bool {
	if pid == p.self {
		return false
	}
	for range maxAncestors {
		switch {
		case pid == p.self || toolProcess(pid) || p.hasCallMark(pid):
			return true
		case pid <= 1:
			return false
		}
		parent, ok := p.parentPID(pid)
		if !ok {
			return false // it is gone, and with it the socket
		}
		pid = parent
	}
	return true
}

func (p procFS) hasCallMark(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", p.root, pid))
	if err != nil {
		return false // another user's
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(tool.CallVariable+"=")); ok && string(v) != p.mark {
			return true
		}
	}
	return false
}

func (p procFS) parentPID(pid int) (int, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", p.root, pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") ")) // the name may hold anything
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}
