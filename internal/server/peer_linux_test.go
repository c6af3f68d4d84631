package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
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
		if got := hexAddr(c.table, tcpAddr(c.addr)); got != c.want {
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

func (tr tree) process(pid, parent int, env string, sockets ...string) {
	tr.t.Helper()
	tr.write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (a) b) S %d 1 1", pid, parent))
	tr.write(fmt.Sprintf("%d/environ", pid), env)
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
		return fmt.Sprintf("   0: %s %s %s 00000000:00000000 00:00000000 00000000 %5d        0 %s 1 0\n", local, remote, state, uid, inode)
	}
	me, other := os.Getuid(), os.Getuid()+1
	server := "0100007F:1000"
	tr.write("net/tcp", "  sl  local_address rem_address   st\n"+
		line("0100007F:0001", server, "01", me, "101")+
		line("0100007F:0002", server, "01", other, "102")+
		line("0100007F:0003", server, "06", me, "0")+
		line("0100007F:0004", server, "01", me, "104")+
		line("0100007F:0005", server, "01", me, "105")+
		line("0100007F:0006", server, "01", me, "106")+
		line("0100007F:0007", server, "01", me, "107")+
		line("0100007F:0008", server, "01", me, "108"))
	tr.process(10, 1, "PATH=/bin\x00", "101")
	tr.process(11, 1, "CAIRN_CALL=call_1\x00", "104")
	tr.process(12, 11, "", "105")
	tr.process(50, 1, "CAIRN_CALL=outer\x00") // this server, itself run by somebody's tool
	tr.process(13, 50, "", "106")
	tr.process(14, 1, "CAIRN_CALL=outer\x00", "107")
	tr.process(15, 1, "", "108")
	tr.process(16, 1, "XCAIRN_CALL=1\x00CAIRN_CALL=2\x00", "108") // shares the socket
	ps := peers{func(pid int) bool { return pid == 99 }, proc{tr.root, 50, "outer", &census{}}}
	for port, want := range map[int]identity{1: ours, 2: unknown, 3: unknown, 4: oursTool, 5: oursTool, 6: oursTool, 7: ours, 8: oursTool, 9: unknown} {
		p := &peer{loopback: true, remote: tcpAddr(fmt.Sprintf("127.0.0.1:%d", port)), local: tcpAddr("127.0.0.1:4096")}
		if got := ps.who(p); got != want {
			t.Errorf("port %d: %d, want %d", port, got, want)
		}
	}
	if p := (&peer{remote: tcpAddr("10.0.0.1:1"), local: tcpAddr("127.0.0.1:4096")}); ps.who(p) != unknown {
		t.Error("a stranger is known")
	}
	if got := ps.who(&peer{unix: true, sameUser: true, pid: 99}); got != oursTool {
		t.Errorf("a process that is a tool's by name: %d", got)
	}
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
	ps := newPeers(nil)
	for b.Loop() {
		p := &peer{loopback: true, remote: c.LocalAddr(), local: c.RemoteAddr()}
		if ps.who(p) != ours {
			b.Fatal("who am I?")
		}
	}
}
