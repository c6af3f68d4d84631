package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

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

// proc reads /proc as this process sees it.
type proc struct {
	root string
	self int
	mark string // the value of CAIRN_CALL that this process was itself started with
}

// callMark is the environment variable that marks the processes of a tool call.
const callMark = "CAIRN_CALL"

func newProc() proc { return proc{"/proc", os.Getpid(), os.Getenv(callMark)} }

// owners returns the processes of our user that hold the socket whose own address is addr and whose peer is peer. None
// if it belongs to another user or nobody can be found.
func (p proc) owners(addr, peer net.Addr) []int {
	a, okA := addr.(*net.TCPAddr)
	b, okB := peer.(*net.TCPAddr)
	if !okA || !okB {
		return nil
	}
	for _, table := range []string{"tcp", "tcp6"} {
		inode, ok := p.socket(table, hexAddr(table, a), hexAddr(table, b))
		if ok {
			return p.holders(inode)
		}
	}
	return nil
}

// socket finds an established connection of our user in a table of the kernel.
func (p proc) socket(table, local, remote string) (inode string, ok bool) {
	f, err := os.Open(p.root + "/net/" + table)
	if err != nil {
		return "", false
	}
	defer f.Close()
	want := []byte(local + " " + remote + " 01 ") // 01: established
	uid := strconv.Itoa(os.Getuid())
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Bytes()
		if !bytes.Contains(line, want) {
			continue
		}
		// sl local rem st tx:rx tr:when retrnsmt uid timeout inode
		fields := strings.Fields(string(line))
		if len(fields) >= 10 && fields[1] == local && fields[7] == uid && fields[9] != "0" {
			return fields[9], true
		}
	}
	return "", false
}

// hexAddr writes an address as the kernel does: 32-bit words in its own byte order.
func hexAddr(table string, a *net.TCPAddr) string {
	ip := a.IP.To4()
	if table == "tcp6" {
		ip = a.IP.To16()
	}
	var b []byte
	for i := 0; i+4 <= len(ip); i += 4 {
		b = binary.NativeEndian.AppendUint32(b, binary.BigEndian.Uint32(ip[i:]))
	}
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b)), a.Port)
}

// holders returns the processes of our user with the socket among their open files. Several share it after a fork.
func (p proc) holders(inode string) []int {
	want := "socket:[" + inode + "]"
	dir, err := os.Open(p.root)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err == nil && p.mine(name) && p.holds(name, want) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (p proc) mine(pid string) bool {
	info, err := os.Stat(p.root + "/" + pid)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

func (p proc) holds(pid, want string) bool {
	base := p.root + "/" + pid + "/fd"
	dir, err := os.Open(base)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		if target, err := os.Readlink(base + "/" + name); err == nil && target == want {
			return true
		}
	}
	return false
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
