package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
)

// TestMain also runs the process that confines itself.
func TestMain(m *testing.M) {
	sandboxtest.RestartWithoutNamespaces()
	if len(os.Args) > 2 && os.Args[1] == Word {
		os.Exit(Enter(os.Args[2:]))
	}
	if len(os.Args) == 4 && os.Args[1] == probeWord {
		fmt.Println(probe(os.Args[2], os.Args[3]))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// probeWord makes this program try one system call that no shell makes.
const probeWord = "__probe"

func probe(what, target string) error {
	switch what {
	case "datagram", "raw", "seqpacket", "stream":
		kind := map[string]int{
			"datagram": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW, "seqpacket": unix.SOCK_SEQPACKET, "stream": unix.SOCK_STREAM,
		}[what]
		pair, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil || target == "" {
			return err
		}
		return errors.Join(
			unix.Sendto(pair[0], []byte(what), 0, &unix.SockaddrUnix{Name: target}),
			unix.Connect(pair[1], &unix.SockaddrUnix{Name: target}),
		)
	case "limit":
		pid, err := strconv.Atoi(target)
		if err != nil {
			return err
		}
		return unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	default:
		return meet(what, target)
	}
}

// cell is a writable directory with files around it that must stay unchanged.
type cell struct {
	work, outside, secret, shown string
	policy                       Policy
	rulesets                     ReadRulesets
}

func newCell(t *testing.T) *cell {
	t.Helper()
	if err := Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{
		filepath.Join(top, "work"), filepath.Join(top, "outside"), filepath.Join(top, "secret"),
		filepath.Join(top, "secret", "shown"),
		Policy{},
		ReadRulesets{},
	}
	for _, dir := range []string{c.work, c.outside, c.secret, c.shown} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("what is in "+filepath.Base(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"out": c.outside, "hole": c.secret, "dangling": filepath.Join(c.outside, "fresh"),
	} {
		if err := os.Symlink(target, filepath.Join(c.work, name)); err != nil {
			t.Fatal(err)
		}
	}
	c.policy = Policy{Write: []string{c.work}, Hide: []string{c.secret}, Show: []string{c.shown}}
	return c
}

// run runs a script in the cell, with the kept ruleset of the last run if it is current, and returns its output.
func (c *cell) run(t *testing.T, script string, env ...string) string {
	t.Helper()
	file, err := c.rulesets.Open(c.policy)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	p := c.policy
	p.ReadRuleset = 3
	argv, err := p.WrapCommand("/proc/self/exe", []string{"/bin/bash", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.ExtraFiles = []*os.File{file}
	cmd.Dir = c.work
	cmd.Env = append(
		os.Environ(),
		append(env, "OUT="+c.outside, "SECRET="+c.secret, "SHOWN="+c.shown, "PARENT="+fmt.Sprint(os.Getpid()))...,
	)
	out, _ := cmd.CombinedOutput() // the exit code is up to the script
	return string(out)
}

// state lists the names and contents outside of the cell.
func (c *cell) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{c.outside, c.secret, c.shown, filepath.Dir(c.work)} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			fmt.Fprintln(&b, err)
		}
		for _, e := range entries {
			var content []byte
			if e.Type().IsRegular() {
				content, _ = os.ReadFile(filepath.Join(dir, e.Name()))
			}
			fmt.Fprintf(&b, "%s/%s %v %q\n", dir, e.Name(), e.Type(), content)
		}
	}
	return b.String()
}

// TestInside: ordinary work succeeds in the sandbox.
func TestInside(t *testing.T) {
	c := newCell(t)
	for script, want := range map[string]string{
		"echo hi > new && cat new":                                                    "hi\n",
		"mkdir -p a/b && cp file a/new && mv a/new a/b/ && cat a/b/new":               "what is in work",
		"mkdir -p c && echo > c/x && ln c/x z && ln -s x y && rm -r y c z && echo ok": "ok\n",
		"cat $OUT/file":                                   "what is in outside",
		"cat $SHOWN/file":                                 "what is in shown",
		"ls $OUT":                                         "file\n",
		"echo x > /dev/null && echo ok":                   "ok\n",
		"head -c 1 /dev/zero | wc -c":                     "1\n",
		"(sleep 0.01 & wait) && echo ok":                  "ok\n",
		"diff <(echo a) <(echo a) && cat <<<here":         "here\n",
		"sleep 60 & kill $! && wait $! 2>/dev/null; echo": "\n",
	} {
		if got := c.run(t, script); got != want {
			t.Errorf("%s: %q", script, got)
		}
	}
	mustHave(t, c.run(t, "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status"), "NoNewPrivs:\t1", "Seccomp:\t2")
}

// writes are attempts to change something outside.
var writes = []string{
	"echo x > $OUT/file", "echo x >> $OUT/file", "echo x > $OUT/new", ": > $OUT/file", "truncate -s 0 $OUT/file",
	"echo x 1<> $OUT/file >&1",
	"rm -f $OUT/file", "rm -rf $OUT", "mkdir $OUT/dir", "rmdir $OUT", "ln -s x $OUT/link", "mkfifo $OUT/fifo",
	"mv file $OUT/", "mv $OUT/file .", "mv $OUT moved", "ln $OUT/file hard && echo x > hard", "cp file $OUT/",
	"ln file $OUT/hard",
	"echo x > out/file", "echo x > out/new", "echo x > dangling", "rm -f out/file", "touch out/new",
	"dd if=file of=$OUT/file conv=notrunc",
	"cd $OUT && echo x > file", "cd out && rm -f file", "echo x > ../outside/file",
	"echo x > /proc/self/cwd/../outside/file",
	"echo x > /proc/self/root$OUT/file", "echo x > /proc/$PPID/root$OUT/file", "echo x > /proc/$PARENT/root$OUT/file",
	"echo x > /proc/$PARENT/cwd/x", "exec 3< $OUT/file; echo x > /proc/self/fd/3",
	"exec 3< $OUT; echo x > /proc/self/fd/3/file",
	"setsid sh -c 'echo x > $OUT/file'", "env -i /bin/sh -c \"echo x > $OUT/file\"", "(echo x > $OUT/file) & wait",
	"nohup touch $OUT/new",
	"unshare -r sh -c 'echo x > $OUT/file'", "unshare -rm sh -c \"mount --bind . $OUT; echo x > $OUT/file\"",
	"unshare -rm sh -c \"mount -o bind $OUT $PWD/a; echo x > a/file\"",
	"chroot / sh -c \"echo x > $OUT/file\"", "nsenter -t $PARENT -m touch $OUT/new", "nsenter -t 1 -m touch $OUT/new",
	"mknod disk b 8 0", "mknod mem c 1 1 && head -c 1 mem", "mount -t tmpfs none $OUT",
	"mount --bind $OUT . && echo x > file",
	"python3 -c \"open('$OUT/file','r+').write('x')\"", "python3 -c \"import os; os.truncate('$OUT/file', 0)\"",
	"python3 -c \"import os; os.rename('file', '$OUT/file')\"",
	"python3 -c \"import os; d=os.open('$OUT',os.O_PATH); os.open('new',os.O_CREAT|os.O_WRONLY,dir_fd=d)\"",
	"cat > evil.c && touch ../evil", "sed -i s/what/x/ $OUT/file",
	"tar -C $OUT -xf /dev/null; tar cf - file | tar -C $OUT -xf -",
	"git init -q $OUT/repo",
	"git -c core.worktree=$OUT init -q . && git --git-dir=.git --work-tree=$OUT checkout -f 2>/dev/null; touch $OUT/new",
	"echo x > $SECRET/file", "echo x > $SHOWN/file", "rm -rf $SECRET", "echo x > hole/file",
	"gdb -p $PARENT -batch -ex 'call system(\"touch $OUT/new\")'",
}

func TestWritesOutsideFail(t *testing.T) {
	c := newCell(t)
	before := c.state(t)
	for _, script := range writes {
		out := c.run(t, script)
		if after := c.state(t); after != before {
			t.Fatalf("%s changed what is outside (%s):\n%s", script, out, after)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Fatal("a file in the working directory of the test")
	}
	for _, device := range []string{"disk", "mem"} {
		if _, err := os.Lstat(filepath.Join(c.work, device)); err == nil {
			t.Errorf("a device %s was made", device)
		}
	}
}

// TestUnboundWritesSucceed: the attempts succeed without the sandbox.
func TestUnboundWritesSucceed(t *testing.T) {
	worked := 0
	for _, script := range writes[:30] {
		c := newCell(t)
		before := c.state(t)
		c.policy.Write = []string{"/"}
		c.run(t, script)
		if c.state(t) != before {
			worked++
		}
	}
	if worked < 25 {
		t.Errorf("only %d of 30 change anything where they may", worked)
	}
}

func TestSecretsStayHidden(t *testing.T) {
	c := newCell(t)
	for _, script := range []string{
		"cat $SECRET/file", "cat hole/file", "cd $SECRET && cat file", "cat ../secret/file", "cat $SHOWN/../file",
		"cp $SECRET/file .; cat file",
		"ln $SECRET/file got && cat got", "mv $SECRET/file got && cat got", "mv $SECRET got && cat got/file", "$SECRET/file",
		"bash $SECRET/file",
		"cat /proc/self/root$SECRET/file", "cat /proc/$PARENT/root$SECRET/file", "exec 3<$SECRET; cat /proc/self/fd/3/file",
		"tar cf - $SECRET | cat",
		"unshare -rm sh -c \"mount --bind $SECRET $PWD/m; cat m/file\"", "grep -r . $SECRET",
		"python3 -c \"print(open('$SECRET/file').read())\"",
		"while read -r l; do echo \"$l\"; done < $SECRET/file", "nsenter -t $PARENT -m cat $SECRET/file",
	} {
		if out := c.run(t, script); strings.Contains(out, "what is in secret") {
			t.Errorf("%s: %s", script, out)
		}
	}
	if out := c.run(
		t, "cat /proc/$PARENT/environ | tr '\\0' '\\n'; cat /proc/$PARENT/mem | head -c 1",
	); strings.Contains(out, "PATH=") {
		t.Errorf("the environment of a process outside: %s", out)
	}
}

// TestNoConnections: neither over the network nor to a local socket, by path or abstract name.
func TestNoConnections(t *testing.T) {
	c := newCell(t)
	listening := map[string]net.Listener{}
	for network, address := range map[string]string{
		"tcp": "127.0.0.1:0", "unix": filepath.Join(c.work, "s"),
		"abstract": "@" + filepath.Base(filepath.Dir(c.work)) + fmt.Sprint(os.Getpid()),
	} {
		l, err := net.Listen(strings.Replace(network, "abstract", "unix", 1), address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		listening[network] = l
	}
	reached := make(chan string, 100)
	for network, l := range listening {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				reached <- network
				_ = conn.Close()
			}
		}()
	}
	port := listening["tcp"].Addr().(*net.TCPAddr).Port
	attempts := []string{
		fmt.Sprintf("echo x > /dev/tcp/127.0.0.1/%d", port), fmt.Sprintf("echo x > /dev/udp/127.0.0.1/%d", port),
		fmt.Sprintf("curl -s --max-time 2 http://127.0.0.1:%d", port),
		fmt.Sprintf("python3 -c \"import socket; socket.create_connection(('127.0.0.1',%d),2)\"", port),
		fmt.Sprintf("unshare -rn bash -c 'echo x > /dev/tcp/127.0.0.1/%d'", port),
		fmt.Sprintf("setsid bash -c 'echo x > /dev/tcp/127.0.0.1/%d'", port),
		fmt.Sprintf("nsenter -t %d -n bash -c 'echo x > /dev/tcp/127.0.0.1/%d'", os.Getpid(), port),
		"python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('s')\"",
		fmt.Sprintf(
			"python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('\\0%s')\"",
			listening["abstract"].Addr().String()[1:],
		),
		"python3 -c \"import socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', 's')\"",
		"ping -c 1 -W 1 127.0.0.1",
	}
	for _, script := range attempts {
		out := c.run(t, script)
		select {
		case network := <-reached:
			t.Errorf("%s reached %s: %s", script, network, out)
		default:
		}
	}
	if _, err := exec.LookPath("python3"); err == nil {
		mustHave(t, c.run(t, "python3 -c \"import socket; socket.socket()\""), "Permission denied")
		mustHave(
			t, c.run(t, "python3 -c \"import socket; a,b=socket.socketpair(); a.send(b'x'); print('paired')\""), "paired",
		)
	}
	c.policy.Network, c.policy.NoLocalSockets = true, true
	for _, script := range attempts[len(attempts)-4:] {
		out := c.run(t, script)
		select {
		case network := <-reached:
			t.Errorf("%s reached %s: %s", script, network, out)
		default:
		}
	}
	c.policy.NoLocalSockets = false
	c.run(t, attempts[0])
	if network := <-reached; network != "tcp" {
		t.Error(network)
	}
}

// TestNoDatagrams: no socket pair can be connected to a datagram socket outside, such as that of a system log.
func TestNoDatagrams(t *testing.T) {
	c := newCell(t)
	name := filepath.Join(c.outside, "s")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"datagram", "raw", "seqpacket", "stream"} {
		c.run(t, fmt.Sprintf("%s %s %s %s", self, probeWord, kind, name))
	}
	out, err := exec.Command(self, probeWord, "seqpacket", "").CombinedOutput()
	if err != nil || string(out) != "<nil>\n" {
		t.Errorf("not in the sandbox: %s %v", out, err)
	}
	from, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = from.Control(func(fd uintptr) {
		buf := make([]byte, 100)
		if n, _, err := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT); err == nil {
			t.Errorf("a datagram came: %q", buf[:n])
		}
	})
	for _, kind := range []string{"seqpacket", "stream"} {
		mustHave(t, c.run(t, fmt.Sprintf("%s %s %s ''", self, probeWord, kind)), "<nil>")
	}
}

// TestProcessesOutsideKeepTheirLimits: a CPU limit on another process would end it.
func TestProcessesOutsideKeepTheirLimits(t *testing.T) {
	c := newCell(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	mustHave(
		t, c.run(t, fmt.Sprintf("%s %s limit %d; ulimit -n 64 && ulimit -n", self, probeWord, other.Process.Pid)),
		"not permitted", "64",
	)
	var have unix.Rlimit
	if err := unix.Prlimit(other.Process.Pid, unix.RLIMIT_CPU, nil, &have); err != nil || have.Cur == 1 {
		t.Errorf("%+v %v", have, err)
	}
}

// TestProcessesOutsideAreSafe: no signals to processes outside, if the kernel supports it.
func TestProcessesOutsideAreSafe(t *testing.T) {
	c := newCell(t)
	if v, _ := landlockVersion(); v < 6 {
		t.Skip("this kernel's Landlock does not bound signals")
	}
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	c.run(
		t,
		fmt.Sprintf("kill -9 %d; kill -STOP %d; setsid kill -9 %d", other.Process.Pid, other.Process.Pid, other.Process.Pid),
	)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", other.Process.Pid))
	if err != nil || !strings.Contains(string(stat), ") S ") && !strings.Contains(string(stat), ") R ") {
		t.Errorf("%s %v", stat, err)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error(err)
	}
}

func TestRootLosesCapabilities(t *testing.T) {
	c := newCell(t)
	out := c.run(t, "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status")
	for line := range strings.Lines(out) {
		var mask uint64
		if _, err := fmt.Sscanf(strings.TrimSpace(line[strings.Index(line, ":")+1:]), "%x", &mask); err != nil {
			t.Fatal(err, line)
		}
		if os.Getuid() == 0 && mask&^uint64(keptCapabilities) != 0 {
			t.Errorf("capabilities are left: %s", line)
		}
	}
}

func TestEnterRefuses(t *testing.T) {
	if err := Check(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	for want, args := range map[string][]string{
		"needs a policy":   {Word, "{}"},
		"cannot be read":   {Word, "{", "/bin/echo", "ran"},
		"unknown object":   {Word, `{"wriet":[]}`, "/bin/echo", "ran"},
		"/no/such/program": {Word, "{}", "/no/such/program"},
	} {
		out, err := exec.Command("/proc/self/exe", args...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ran\n") {
			t.Errorf("%q ran: %s", args, out)
		}
		mustHave(t, string(out), want)
	}
}

func TestExposed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		write, hide, want string
	}{
		{"/work", "/home/me/data", ""},
		{"/work", "/workdata", ""},
		{"/home/me", "/home/me/data", "/home/me/data"},
		{"/", "/home/me/data", "/home/me/data"},
		{"/home/me/data/tmp", "/home/me/data", ""},
		{"/home/me/data", "/home/me/data", "/home/me/data"},
		{filepath.Join(dir, "link"), filepath.Join(dir, "new", "data"), filepath.Join(dir, "new", "data")},
	} {
		if got := (Policy{Write: []string{c.write}, Hide: []string{c.hide}}).FindExposed(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func mustHave(t *testing.T, s string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(s, p) {
			t.Errorf("%q is not in %q", p, s)
		}
	}
}

func BenchmarkEnter(b *testing.B) {
	if err := Check(); err != nil {
		b.Skip(err)
	}
	p := Policy{Write: []string{b.TempDir()}, Hide: []string{filepath.Join(os.Getenv("HOME"), ".ssh")}}
	argv, err := p.WrapCommand("/proc/self/exe", []string{"/bin/true"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			b.Fatal(err, string(out))
		}
	}
}
