package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
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

	census *census
}

// callMark is the environment variable that marks the processes of a tool call.
const callMark = "CAIRN_CALL"

func newProc() proc { return proc{"/proc", os.Getpid(), os.Getenv(callMark), &census{}} }

// owners returns the processes of our user that hold the socket whose own address is addr and whose peer is peer. None
// if it belongs to another user or nobody can be found.
func (p proc) owners(addr, peer net.Addr) []int {
	a, okA := addr.(*net.TCPAddr)
	b, okB := peer.(*net.TCPAddr)
	if !okA || !okB {
		return nil
	}
	s := p.census.after(p.look)
	for _, table := range []string{"tcp", "tcp6"} {
		if inode, ok := s.sockets[hexAddr(table, a)+" "+hexAddr(table, b)]; ok {
			return s.holders[inode]
		}
	}
	return nil
}

// sight is what one look at the whole machine saw: our user's established connections, and who holds sockets.
type sight struct {
	sockets map[string]string // inodes, by own and peer address
	holders map[string][]int  // of our user, by inode; several share one after a fork
}

// census shares looks among callers who come at the same time, as when a hundred connect at once. Nobody gets one that
// began before the question.
type census struct {
	looking sync.Mutex // held during a look
	mu      sync.Mutex // guards next
	next    *pending
}

type pending struct {
	once sync.Once
	sight
}

func (c *census) after(look func() sight) sight {
	c.mu.Lock()
	if c.next == nil {
		c.next = &pending{}
	}
	n := c.next
	c.mu.Unlock()
	n.once.Do(func() {
		c.looking.Lock()
		defer c.looking.Unlock()
		c.mu.Lock()
		c.next = nil // whoever comes from now on needs a later one
		c.mu.Unlock()
		n.sight = look()
	})
	return n.sight
}

func (p proc) look() sight {
	s := sight{sockets: map[string]string{}, holders: map[string][]int{}}
	for _, table := range []string{"tcp", "tcp6"} {
		p.connections(table, s.sockets)
	}
	p.count(s.holders)
	return s
}

// connections adds the established connections of our user in a table of the kernel.
func (p proc) connections(table string, found map[string]string) {
	f, err := os.Open(p.root + "/net/" + table)
	if err != nil {
		return
	}
	defer f.Close()
	uid := strconv.Itoa(os.Getuid())
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// sl local rem st tx:rx tr:when retrnsmt uid timeout inode
		fields := strings.Fields(lines.Text())
		if len(fields) >= 10 && fields[3] == "01" && fields[7] == uid && fields[9] != "0" { // 01: established
			found[fields[1]+" "+fields[2]] = fields[9]
		}
	}
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

// count adds, for every socket among the open files of our user's processes, who has it.
func (p proc) count(holders map[string][]int) {
	for _, name := range names(p.root) {
		pid, err := strconv.Atoi(name)
		if err != nil || !p.mine(name) {
			continue
		}
		base := p.root + "/" + name + "/fd"
		for _, fd := range names(base) {
			target, err := os.Readlink(base + "/" + fd)
			inode, ok := strings.CutPrefix(target, "socket:[")
			if err != nil || !ok {
				continue
			}
			inode = strings.TrimSuffix(inode, "]")
			if !slices.Contains(holders[inode], pid) {
				holders[inode] = append(holders[inode], pid)
			}
		}
	}
}

// names lists a directory; one that is gone is empty.
func names(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	all, _ := d.Readdirnames(-1) // what was read before it went is still good
	return all
}

func (p proc) mine(pid string) bool {
	info, err := os.Stat(p.root + "/" + pid)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
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
