package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/server"
)

// The environment of the processes of TestEvasions.
const (
	evadeMode   = "EVADE_MODE"   // what to do
	evadeTo     = "EVADE_TO"     // the address of the server: unix:PATH or HOST:PORT
	evadeBearer = "EVADE_BEARER" // the credential, if any
	evadeParent = "EVADE_PARENT" // the generation before
)

// supervised is the argument of supervisors. Tests of commands, which run at the same time, end the processes of calls
// that have none.
const supervised = "__supervise"

// tries is the number of attempts of an evasion that needs luck.
const tries = 40

// evader is a process of a tool that has left everything behind but what the kernel does not let it leave.
type evader struct{ to, bearer string }

// runEvader plays a process of TestEvasions, in three generations as a daemon starts: the first marks itself as a
// command of a tool, the second is its child in a session of its own, and the third is adopted by init and calls the
// server.
func runEvader() bool {
	mode := os.Getenv(evadeMode)
	switch {
	case mode == "":
		return false
	case strings.HasPrefix(mode, "connect "):
		e := evader{to: os.Getenv(evadeTo)}
		_ = e.connect(3)
		return true
	case strings.HasPrefix(mode, "mark "):
		if err := proctable.SetCallMark(proctable.NewCallMark()); err != nil {
			panic(err)
		}
		if strings.HasSuffix(mode, "mark is 0") {
			_ = proctable.SetCallMark(0)
		}
		spawn("daemon " + strings.TrimPrefix(mode, "mark "))
		return true
	case strings.HasPrefix(mode, "daemon "):
		spawn("call " + strings.TrimPrefix(mode, "daemon "))
		return true
	case strings.HasPrefix(mode, "call chain ") && mode != "call chain 0":
		n, _ := strconv.Atoi(strings.TrimPrefix(mode, "call chain "))
		spawn(fmt.Sprint("call chain ", n-1))
		return true
	case mode == "call sg": // as sg(1) does: a program with a group of its own makes it the group of another one
		if err := syscall.Setresgid(otherGroup, otherGroup, otherGroup); err != nil {
			panic(err)
		}
		path := filepath.Join(filepath.Dir(os.Args[0]), "server.test")
		_ = os.Setenv(evadeMode, "call plain")
		panic(unix.Exec(path, []string{path, supervised}, os.Environ()))
	}
	_, _ = os.NewFile(3, "parent").Read(make([]byte, 1)) // until the parent exits,
	for os.Getenv(evadeParent) == strconv.Itoa(os.Getppid()) {
		runtime.Gosched() // and init has adopted this process
	}
	e := evader{os.Getenv(evadeTo), os.Getenv(evadeBearer)}
	fmt.Println(e.evade(strings.TrimPrefix(mode, "call ")))
	return true
}

// spawn starts the next generation in a session of its own and does not wait for it. The child's descriptor 3 is at its
// end when this process has exited.
func spawn(mode string) {
	parent, _, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(os.Args[0], supervised)
	if mode == "call sg" || mode == "call setgid" {
		cmd = exec.Command(setgidProgram(), supervised)
	}
	cmd.Env = append(os.Environ(), evadeMode+"="+mode, evadeParent+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{parent}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	switch mode {
	case "call nohup", "call setsid": // they execute the program
		cmd.Path, cmd.Args = "/usr/bin/"+strings.TrimPrefix(mode, "call "), []string{mode, os.Args[0], supervised}
		cmd.SysProcAttr.Setsid = false
	case "call unshare": // with all capabilities there
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(unsupported, err)
	}
}

// unsupported is the output of a process on a system that lacks the evasion.
const unsupported = "unsupported"

// setgidProgram is this program with the mode setgid for otherGroup, which TestEvasionsAsUser makes.
func setgidProgram() string { return filepath.Join(filepath.Dir(os.Args[0]), "setgid.test") }

// evade calls the server and returns the statuses of the responses.
func (e evader) evade(mode string) string {
	switch mode {
	case "unshare":
		_ = proctable.SetCallMark(unix.RLIM_INFINITY) // a capability of the first namespace would be needed
		return e.call(e.dial())
	case "plain", "mark is 0", "setgid", "nohup", "setsid", "chain 0":
		return e.call(e.dial())
	case "listen": // in place of the server
		l, err := net.Listen("unix", strings.TrimPrefix(e.to, "unix:"))
		if err != nil {
			return err.Error()
		}
		fmt.Println(os.Getpid())
		_ = os.Stdout.Close() // the test reads until the end
		for err == nil {
			_, err = l.Accept()
		}
		return err.Error()
	case "other user": // as newuidmap(1) and su(1) lend one
		if err := syscall.Setresuid(otherUser, otherUser, otherUser); err != nil {
			return unsupported
		}
		return e.call(e.dial())
	case "not dumpable":
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		return e.call(e.dial())
	case "connector exited":
		fd := e.newSocket()
		f := os.NewFile(uintptr(fd), "socket")
		cmd := exec.Command(os.Args[0], supervised)
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), evadeMode+"=connect x"), []*os.File{f}
		if err := cmd.Run(); err != nil {
			return err.Error()
		}
		return e.call(f)
	case "in flight":
		var all []string
		for range tries {
			all = append(all, e.callInFlight())
		}
		return strings.Join(all, " ")
	default:
		return "unknown mode " + mode
	}
}

func (e evader) address() unix.Sockaddr {
	if path, ok := strings.CutPrefix(e.to, "unix:"); ok {
		return &unix.SockaddrUnix{Name: path}
	}
	host, port, _ := strings.Cut(e.to, ":")
	n, _ := strconv.Atoi(port)
	a := &unix.SockaddrInet4{Port: n}
	copy(a.Addr[:], net.ParseIP(host).To4())
	return a
}

func (e evader) newSocket() int {
	family := unix.AF_INET
	if strings.HasPrefix(e.to, "unix:") {
		family = unix.AF_UNIX
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	return fd
}

func (e evader) connect(fd int) error { return unix.Connect(fd, e.address()) }

func (e evader) dial() *os.File {
	fd := e.newSocket()
	if err := e.connect(fd); err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fd), "socket")
}

func (e evader) request() []byte {
	host := e.to
	if strings.HasPrefix(e.to, "unix:") {
		host = "localhost"
	}
	text := "GET /api/health HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n"
	if e.bearer != "" {
		text += "Authorization: Bearer " + e.bearer + "\r\n"
	}
	return []byte(text + "\r\n")
}

// call sends a request and returns the status and the reason of the response.
func (e evader) call(f *os.File) string {
	defer f.Close()
	if _, err := f.Write(e.request()); err != nil {
		return err.Error()
	}
	return readStatus(f)
}

func readStatus(f *os.File) string {
	resp, err := http.ReadResponse(bufio.NewReader(f), nil)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	reason, _, _ := strings.Cut(resp.Header.Get("X-Cairn-Error"), ":")
	return fmt.Sprint(resp.StatusCode, ",", reason)
}

// callInFlight lets no process hold the connection while the server looks for its holder: it is in a message
// that was not received yet.
func (e evader) callInFlight() string {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	fd := e.newSocket()
	if err := e.connect(fd); err != nil {
		return err.Error()
	}
	if _, err := unix.Write(fd, e.request()); err != nil {
		return err.Error()
	}
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(fd), nil, 0); err != nil {
		return err.Error()
	}
	_ = unix.Close(fd)
	_, _ = unix.Poll(nil, 5) // milliseconds; the look takes about as long
	oob := make([]byte, 64)
	_, n, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), oob, 0)
	if err != nil {
		return err.Error()
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return err.Error()
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err.Error()
	}
	f := os.NewFile(uintptr(fds[0]), "socket")
	defer f.Close()
	return readStatus(f)
}

// A process that a tool started is refused with any credential, whatever it does to hide where it comes from.
func TestEvasions(t *testing.T) {
	h := start(t, server.Config{Password: "pw", Hostname: "0.0.0.0"})
	_, port, err := net.SplitHostPort(h.host)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]string{"socket": "unix:" + h.socket, "loopback": "127.0.0.1:" + port}
	if own := ownAddress(); own != "" {
		targets["own address"] = own + ":" + port
	}
	modes := []string{"plain", "mark is 0", "not dumpable", "connector exited", "in flight"}
	if _, err := os.Stat(setgidProgram()); err == nil {
		modes = append(modes, "setgid", "sg")
	}
	// One target each: they differ in how they start.
	daemons := []string{"nohup", "setsid", "unshare", "chain 8", "other user"}
	for _, mode := range slices.Concat(modes, daemons) {
		for name, to := range targets {
			for _, bearer := range []string{"", secret} {
				target := map[bool]string{true: "loopback", false: "socket"}[mode == "other user"]
				if slices.Contains(daemons, mode) && (name != target || bearer == "") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/bearer=%t", mode, name, bearer != ""), func(t *testing.T) {
					got := evadeAs(t, mode, to, bearer)
					if strings.HasPrefix(got, unsupported) {
						t.Skip(got)
					}
					for _, answer := range strings.Fields(got) {
						status, reason, _ := strings.Cut(answer, ",")
						refused := status == "403" && (reason == caller.ReasonTool || reason == caller.ReasonUnknown) ||
							bearer == "" && status == "401" && reason == caller.ReasonMissing
						if !refused {
							t.Fatalf("answered %q in %q", answer, got)
						}
					}
				})
			}
		}
	}
}

// evadeAs starts a process of a tool and returns what the server answered it. The end of another command, in a test of
// another package, kills the process as an orphan if it comes while a generation before it exits: an exiting process is
// no supervisor. Then it is started again.
func evadeAs(t *testing.T, mode, to, bearer string) string {
	t.Helper()
	errs, err := os.Create(filepath.Join(t.TempDir(), "stderr")) // a file: the last generation may stay
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	const starts = 5
	for range starts {
		cmd := exec.Command(os.Args[0], supervised)
		cmd.Env = []string{evadeMode + "=mark " + mode, evadeTo + "=" + to, evadeBearer + "=" + bearer}
		cmd.Stderr = errs
		out, err := cmd.Output() // the last generation holds the pipe
		if len(out) > 0 && err == nil {
			return string(out)
		}
	}
	why, _ := os.ReadFile(errs.Name())
	t.Fatalf("the tool's process wrote nothing, %d times: %s", starts, why)
	return ""
}

// A process of a tool that listens at the owner's socket, as after it has ended the owner, gets no request of a relay.
func TestRelayTrustsNoTool(t *testing.T) {
	h := *start(t, server.Config{})
	h.socket = filepath.Join(t.TempDir(), "s")
	pid := strings.TrimSpace(evadeAs(t, "listen", "unix:"+h.socket, ""))
	t.Cleanup(func() {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	status, body := h.relay(t, server.Config{}).ask(t, http.MethodGet, "/api/session", bearer)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "process "+pid+", which owns the data") ||
		!strings.Contains(body, "a command of a tool") {
		t.Errorf("%d %s", status, body)
	}
}

// ownAddress returns an IPv4 address of this machine other than loopback, "" without one.
func ownAddress() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

const (
	evadeUser  = 12345
	otherUser  = 23456
	otherGroup = 54321
)

// TestEvasionsAsUser runs TestEvasions as a user without privileges: root can read what others cannot.
func TestEvasionsAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestEvasions ran without privileges")
	}
	dir, err := os.MkdirTemp("/tmp", "evasions")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "server.test")
	for path, group := range map[string]int{self: evadeUser, filepath.Join(dir, "setgid.test"): otherGroup} {
		err := os.WriteFile(path, bin, 0o755) //nolint:gosec // another user runs it
		err = errors.Join(err, os.Chown(path, evadeUser, group))
		if group == otherGroup {
			err = errors.Join(err, os.Chmod(path, 0o755|os.ModeSetgid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, evadeUser, evadeUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestEvasions$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: evadeUser, Gid: evadeUser}}
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), "    --- PASS") < 24 {
		t.Errorf("%v\n%s", err, out)
	}
}
