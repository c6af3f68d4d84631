package peer

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func tcpAddr(s string) *net.TCPAddr {
	a, err := net.ResolveTCPAddr("tcp", s)
	if err != nil {
		panic(err)
	}
	return a
}

func TestHexAddr(t *testing.T) {
	for _, c := range []struct{ table, addr, want string }{
		{"tcp", "127.0.0.1:4096", "0100007F:1000"},
		{"tcp6", "127.0.0.1:4096", "0000000000000000FFFF00000100007F:1000"},
		{"tcp6", "[::1]:80", "00000000000000000000000001000000:0050"},
	} {
		if got := formatProcAddress(c.table, netip.MustParseAddrPort(c.addr)); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.addr, c.table, got, c.want)
		}
	}
}

// tree is a /proc of our making.
type tree struct {
	t    *testing.T
	root string
}

func (tr tree) write(path, text string) {
	tr.t.Helper()
	path = filepath.Join(tr.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr tree) process(pid, parent int, sockets ...string) {
	tr.t.Helper()
	tr.write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (a) b) S %d 1 1", pid, parent))
	fds := filepath.Join(tr.root, strconv.Itoa(pid), "fd")
	if err := os.MkdirAll(fds, 0o700); err != nil {
		tr.t.Fatal(err)
	}
	for i, s := range sockets {
		if err := os.Symlink("socket:["+s+"]", filepath.Join(fds, strconv.Itoa(i))); err != nil {
			tr.t.Fatal(err)
		}
	}
}

func TestWhoHoldsASocket(t *testing.T) {
	tr := tree{t, t.TempDir()}
	line := func(local, remote, state string, uid int, inode string) string {
		return fmt.Sprintf(
			"   0: %s %s %s 00000000:00000000 00:00000000 00000000 %5d        0 %s 1 0\n",
			local,
			remote,
			state,
			uid,
			inode,
		)
	}
	me, other, lent := os.Getuid(), os.Getuid()+1, os.Getuid()+2
	server := "0100007F:1000"
	tr.write("net/tcp", "  sl  local_address rem_address   st\n"+
		line("0100007F:0001", server, "01", me, "101")+
		line("0100007F:0002", server, "01", other, "102")+
		line("0100007F:0003", server, "06", me, "0")+
		line("0100007F:0004", server, "01", me, "104")+
		line("0100007F:0005", server, "01", me, "105")+
		line("0100007F:0006", server, "01", me, "106")+
		line("0100007F:0007", server, "01", me, "107")+
		line("0100007F:0008", server, "01", me, "108")+
		line("0100007F:000A", server, "05", me, "110")+ // has said all
		line("0100007F:000B", server, "0A", me, "111")+
		line("0100007F:000C", server, "01", me, "112")+
		line("0100007F:000D", server, "01", me, "113")+
		line("0100007F:000E", server, "01", me, "114")+
		line("0100007F:000F", server, "01", me, "115")+
		line("0100007F:0010", server, "01", me, "116")+
		line("0100007F:0011", server, "01", lent, "117")+
		line("0100007F:0012", server, "01", other, "118")+
		line("0100007F:0013", server, "01", other+9, "119"))
	tr.process(10, 1, "101")
	tr.process(11, 1, "104")
	tr.process(12, 11, "105")
	tr.process(50, 1) // this server, itself run by a tool
	tr.process(13, 50, "106")
	tr.process(14, 1, "107")
	tr.process(15, 1, "108")
	tr.process(16, 1, "108") // shares the socket
	tr.process(17, 1, "110", "111")
	tr.process(18, 4711, "112") // its parent is gone
	tr.process(19, 99, "113")
	tr.process(20, 1, "114") // its mark cannot be read
	tr.process(21, 1, "115")
	tr.process(22, 21, "115") // forked, has it until it executes a program
	tr.process(23, 1, "116")
	tr.process(26, 1, "118") // a tool's, with the socket of another user
	for pid, uid := range map[int]int{30: other, 31: lent, 32: lent} {
		tr.write(fmt.Sprintf("%d/status", pid), fmt.Sprintf("Name:\tx\nUid:\t%d\t%[1]d\t%[1]d\t%[1]d\nGid:\t0", uid))
	}
	tr.process(25, 1)
	if err := os.RemoveAll(filepath.Join(tr.root, "25", "fd")); err != nil {
		t.Fatal(err)
	}
	tr.process(24, 1, "116")                                                 // passes it on whenever it is looked at
	marks := map[int]uint64{11: 70, 12: 70, 14: 100, 16: 60, 26: 70, 32: 70} // 100 is the server's own
	p := newProcFS()
	p.root, p.self, p.own = tr.root, 50, 100
	p.callMark = func(pid int) (uint64, bool) {
		switch pid {
		case 22:
			_ = os.RemoveAll(filepath.Join(tr.root, "22", "fd"))
		case 24:
			_ = os.Rename(filepath.Join(tr.root, "24", "fd"), filepath.Join(tr.root, "25", "fd"))
		case 25:
			_ = os.Rename(filepath.Join(tr.root, "25", "fd"), filepath.Join(tr.root, "24", "fd"))
		}
		return cmp.Or(marks[pid], 1000), pid != 20
	}
	p.querySocket = func(_, _ netip.AddrPort) (socket, error) { return socket{}, unix.EPERM } // as in some containers
	ps := Resolver{func(pid int) bool { return pid == 99 }, p}
	for port, want := range map[int]Identity{
		1: User, 2: Remote, 3: Unknown, 4: Tool, 5: Tool, 6: Tool,
		7: User, 8: Tool, 9: Unknown, 10: User, 11: Unknown, 12: Unknown,
		13: Tool, 14: Unknown, 15: User, 16: Unknown,
		17: Unknown, 18: Tool, 19: Unknown, // a tool runs as that user; has its socket; no process of that user
	} {
		p := &Peer{
			Loopback:   true,
			RemoteAddr: tcpAddr(fmt.Sprintf("127.0.0.1:%d", port)),
			LocalAddr:  tcpAddr("127.0.0.1:4096"),
		}
		if got := ps.FindIdentity(p); got != want {
			t.Errorf("port %d: %d, want %d", port, got, want)
		}
	}
	if p := (&Peer{RemoteAddr: tcpAddr("192.0.2.1:1"), LocalAddr: tcpAddr("127.0.0.1:4096")}); ps.FindIdentity(
		p,
	) != Remote {
		t.Error("another machine is not remote")
	}
	for name, c := range map[string]struct {
		process ConnectedProcess
		want    Identity
	}{
		"a process of a tool": {ConnectedProcess{PID: 99}, Tool},
		"one that has exited": {ConnectedProcess{PID: 10, start: "1"}, Unknown},
		"one that is gone":    {ConnectedProcess{PID: 4711}, Unknown},
		"one out of sight":    {ConnectedProcess{}, Unknown},
	} {
		if got := ps.FindIdentity(&Peer{Unix: true, SameUser: true, Process: c.process}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// ends is one TCP connection, as its client has it.
func ends(t *testing.T, network, address string, d net.Dialer) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	client, err := d.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

func addrPort(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }

// What the kernel answers about one socket is what its tables say, in each way to be connected.
func TestOneSocketIsAskedAbout(t *testing.T) {
	bound := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if cerr := c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), "lo") }); cerr != nil {
			return cerr
		}
		return err
	}}
	for name, dial := range map[string]func(t *testing.T) (net.Conn, net.Conn){
		"IPv4": func(t *testing.T) (net.Conn, net.Conn) {
			return ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
		},
		"IPv6":         func(t *testing.T) (net.Conn, net.Conn) { return ends(t, "tcp6", "[::1]:0", net.Dialer{}) },
		"IPv4 in IPv6": mapped,
		"another of 127/8": func(t *testing.T) (net.Conn, net.Conn) {
			return ends(t, "tcp4", "127.9.8.7:0", net.Dialer{})
		},
		"bound to lo": func(t *testing.T) (net.Conn, net.Conn) { return ends(t, "tcp4", "127.0.0.1:0", bound) },
	} {
		t.Run(name, func(t *testing.T) {
			client, server := dial(t)
			p := newProcFS()
			own, peer := addrPort(server.RemoteAddr()), addrPort(server.LocalAddr())
			asked, err := p.querySocket(own, peer)
			if err != nil {
				t.Skip("the kernel does not tell here: ", err)
			}
			p.querySocket = func(_, _ netip.AddrPort) (socket, error) { return socket{}, unix.EPERM }
			read, ok := p.findSocket(own, peer)
			if asked != read || !ok || !asked.connected || asked.inode != inodeOf(t, client) ||
				asked.uid != os.Getuid() {
				t.Errorf("asked: %+v, read: %+v, inode %d", asked, read, inodeOf(t, client))
			}
		})
	}
}

// mapped is a client that speaks IPv6 with an IPv4 server.
func mapped(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	f := os.NewFile(uintptr(fd), "client")
	defer f.Close()
	to := unix.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
	if err := unix.Connect(fd, &to); err != nil {
		t.Skip(err)
	}
	client, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

func inodeOf(t *testing.T, c net.Conn) uint64 {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if cerr := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return st.Ino
}

// Only a process that has the other end of a connection is taken for its peer, by each way to look up sockets.
func TestNobodyHasTheOtherEnd(t *testing.T) {
	client, server := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	listens, unused := l.Addr(), tcpAddr("127.0.0.1:1")
	gone, left := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	half, said := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	if err := half.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for _, how := range []struct {
		name string
		ask  func(own, peer netip.AddrPort) (socket, error)
	}{{"asked", querySocket}, {"read", func(_, _ netip.AddrPort) (socket, error) { return socket{}, unix.EPERM }}} {
		p := newProcFS()
		p.querySocket = how.ask
		for name, pair := range map[string][2]net.Addr{
			"a listening port":               {listens, unused},
			"an unused port":                 {unused, server.LocalAddr()},
			"another server":                 {client.LocalAddr(), listens},
			"a client that has closed":       {left.RemoteAddr(), left.LocalAddr()},
			"another address of the machine": {tcpAddr("127.0.0.2:" + port(client.LocalAddr())), server.LocalAddr()},
			"the other kind of address": {
				tcpAddr("[::1]:" + port(client.LocalAddr())),
				tcpAddr("[::1]:" + port(server.LocalAddr())),
			},
		} {
			if who := p.identifyHolder(pair[0], pair[1], isNoTool); who != Unknown {
				t.Errorf("%s: %s: %d", how.name, name, who)
			}
		}
		for name, of := range map[string]net.Conn{"this process": server, "this process, which says no more": said} {
			if who := p.identifyHolder(of.RemoteAddr(), of.LocalAddr(), isNoTool); who != User {
				t.Errorf("%s: %s: %d", how.name, name, who)
			}
		}
	}
}

func isNoTool(int) bool { return false }

func port(a net.Addr) string { return strconv.Itoa(a.(*net.TCPAddr).Port) }

// Two clients may have the same port when their servers differ: each connection is its own.
func TestClientsWithOnePort(t *testing.T) {
	reuse := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		cerr := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
		return errors.Join(cerr, err)
	}, LocalAddr: tcpAddr("127.0.0.1:0")}
	one, served := ends(t, "tcp4", "127.0.0.1:0", reuse)
	reuse.LocalAddr = one.LocalAddr()
	two, servedToo := ends(t, "tcp4", "127.0.0.1:0", reuse)
	for c, s := range map[net.Conn]net.Conn{one: served, two: servedToo} {
		got, ok := newProcFS().findSocket(addrPort(s.RemoteAddr()), addrPort(s.LocalAddr()))
		if !ok || got.inode != inodeOf(t, c) {
			t.Errorf("%+v, want %d", got, inodeOf(t, c))
		}
	}
}

// Whose a socket is, is who made it: this very process has it, but another user did.
func TestAnotherUsersSocket(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change its user")
	}
	other := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if cerr := c.Control(func(fd uintptr) { err = unix.Fchown(int(fd), 65534, -1) }); cerr != nil {
			return cerr
		}
		return err
	}}
	client, server := ends(t, "tcp4", "127.0.0.1:0", other)
	ps := NewResolver(nil)
	if s, ok := ps.proc.findSocket(addrPort(client.LocalAddr()), addrPort(server.LocalAddr())); !ok || s.uid != 65534 ||
		s.inode != inodeOf(t, client) {
		t.Fatalf("%+v", s)
	}
	p := &Peer{Loopback: true, RemoteAddr: server.RemoteAddr(), LocalAddr: server.LocalAddr()}
	if got := ps.FindIdentity(p); got != Remote {
		t.Errorf("%d", got)
	}
}

// A process that counts itself among those of tools, because its tools make requests, is not its own user over TCP.
func TestOwnRequestsNeedCredentials(t *testing.T) {
	client, server := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	p := &Peer{Loopback: true, RemoteAddr: client.LocalAddr(), LocalAddr: server.LocalAddr()}
	if got := NewResolver(func(pid int) bool { return pid == os.Getpid() }).FindIdentity(p); got != Remote {
		t.Errorf("%d", got)
	}
}

// A connection of another network namespace is refused, even if its addresses are the same.
func TestAnotherNetwork(t *testing.T) {
	client, server := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	done := make(chan error)
	go onThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		if s, err := querySocket(addrPort(client.LocalAddr()), addrPort(server.LocalAddr())); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%+v %v", s, err)
		}
		done <- nil
	})
	if err := <-done; err != nil {
		t.Skip(err)
	}
}

// onThread runs f on a thread of its own, which ends with its goroutine. The main thread would not end, and /proc/self
// is what that one is in.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() { // while we hold the main thread
		defer close(done)
		onThread(f)
	}()
	<-done
	runtime.UnlockOSThread()
}

// A hundred callers who come together are looked for together, and the connection of each is asked about once.
func TestEachConnectionIsAskedAboutOnce(t *testing.T) {
	ps := NewResolver(nil)
	var asked atomic.Int64
	ps.proc.querySocket = func(own, peer netip.AddrPort) (socket, error) { asked.Add(1); return querySocket(own, peer) }
	client, _ := ends(t, "tcp4", "127.0.0.1:0", net.Dialer{})
	p := &Peer{Loopback: true, RemoteAddr: client.LocalAddr(), LocalAddr: client.RemoteAddr()}
	for range 100 {
		if ps.FindIdentity(p) != User {
			t.Fatal("who am I?")
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
}

func FuzzReadDiag(f *testing.F) {
	own, peer := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("[::1]:2")
	question := encodeDiagRequest(own, peer)
	f.Add(question)
	f.Add(append(question, make([]byte, 100)...))
	f.Add([]byte{36, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 254, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeDiagResponse(b, own, peer); err == nil && len(b) < unix.SizeofNlMsghdr+diagAnswer {
			t.Errorf("%+v of %d bytes", s, len(b))
		}
	})
}

func BenchmarkWho(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ps := NewResolver(nil)
	for b.Loop() {
		p := &Peer{Loopback: true, RemoteAddr: c.LocalAddr(), LocalAddr: c.RemoteAddr()}
		if ps.FindIdentity(p) != User {
			b.Fatal("who am I?")
		}
	}
}

// A holder that no process shows is remote only after two scans in which every mark was read, none of them a tool's.
func TestHiddenHolder(t *testing.T) {
	for scans, want := range map[string]Identity{ // h: hidden, t: a tool runs, e: a process exited meanwhile
		"h h": Remote, "h ht": Unknown, "h -": Unknown, "-": Unknown, "he h he h": Remote, "he h het": Unknown,
		"he he he he he he he h": Unknown, "ht h h": Unknown,
	} {
		rest := strings.Fields(scans)
		got := classifyHidden(func() (hidden, tools, exited bool) {
			s := rest[0]
			rest = rest[1:]
			return strings.Contains(s, "h"), strings.Contains(s, "t"), strings.Contains(s, "e")
		})
		if got != want || len(rest) > 0 && want == Remote {
			t.Errorf("%s: %d, %d scans left", scans, got, len(rest))
		}
	}
}

// TestWithoutDescriptors: a peer that this process cannot look at, because it has no file descriptor left, is not taken
// for one that hides.
func TestWithoutDescriptors(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	look := func() Identity {
		return NewResolver(nil).FindIdentity(&Peer{Unix: true}) // of a namespace that is not seen
	}
	if got := look(); got != Unknown {
		t.Errorf("with descriptors: %v", got)
	}
	low := limit
	low.Cur = 4
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	got := look()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if got != Unread {
		t.Errorf("without descriptors: %v", got)
	}
}
