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
)

// credentialsOf asks the kernel who connected.
func credentialsOf(c *net.UnixConn) (pid int, sameUser bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil || err != nil {
		return 0, false
	}
	return int(cred.Pid), int(cred.Uid) == os.Getuid()
}

// proc asks the kernel about sockets and processes, as this process sees them.
type proc struct {
	root string // of /proc
	self int
	mark string // the value of CAIRN_CALL that this process was itself started with

	ask     func(own, peer netip.AddrPort) (socket, error)
	tables  *census[map[string]socket] // where the kernel does not answer about one socket
	holders *census[map[uint64][]int]
}

// callMark is the environment variable that marks the processes of a tool call.
const callMark = "CAIRN_CALL"

func newProc() proc { return procAt("/proc", os.Getpid(), os.Getenv(callMark)) }

func procAt(root string, self int, mark string) proc {
	return proc{root, self, mark, askSocket, &census[map[string]socket]{}, &census[map[uint64][]int]{}}
}

// owners returns the processes of our user that hold the socket whose own address is addr and whose peer is peer. None
// if it belongs to another user or nobody can be found.
func (p proc) owners(addr, peer net.Addr) []int {
	a, okA := addr.(*net.TCPAddr)
	b, okB := peer.(*net.TCPAddr)
	if !okA || !okB {
		return nil
	}
	s, ok := p.socketOf(a.AddrPort(), b.AddrPort())
	if !ok || !s.connected || s.inode == 0 || s.uid != os.Getuid() {
		return nil
	}
	pids := p.holders.after(p.count)[s.inode]
	if len(pids) == 0 && p.mineToo(s.inode) {
		return []int{p.self}
	}
	return pids
}

// socketOf returns the socket with these addresses.
func (p proc) socketOf(own, peer netip.AddrPort) (socket, bool) {
	s, err := p.ask(own, peer)
	if err == nil {
		return s, true
	}
	if errors.Is(err, unix.ENOENT) {
		if _, err := p.ask(peer, own); err == nil {
			return socket{}, false // it knows our end of the connection, so the other one is gone, or never was here
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		if s, ok := p.tables.after(p.connections)[hexAddr(table, own)+" "+hexAddr(table, peer)]; ok {
			return s, true
		}
	}
	return socket{}, false
}

// maxAncestors bounds a walk to the root of the process tree.
const maxAncestors = 256

// fromTool reports whether the process or one of its ancestors belongs to a tool call: it says so, it bears the mark,
// or it descends from this very process, whose children are all tools.
func (p proc) fromTool(pid int, toolProcess func(int) bool) bool {
	if pid == p.self {
		return false
	}
	for range maxAncestors {
		switch {
		case pid == p.self || toolProcess(pid) || p.marked(pid):
			return true
		case pid <= 1:
			return false
		}
		parent, ok := p.parent(pid)
		if !ok {
			return false // it is gone, and with it the socket
		}
		pid = parent
	}
	return true
}

func (p proc) marked(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", p.root, pid))
	if err != nil {
		return false // another user's
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(kv, []byte(callMark+"=")); ok && string(v) != p.mark {
			return true
		}
	}
	return false
}

func (p proc) parent(pid int) (int, bool) {
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
