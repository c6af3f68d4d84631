//go:build unix

package crashtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/discovery"

	"github.com/cairn-dev/cairn/internal/cli/root"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/host"
)

const (
	childVariable   = "CAIRN_CRASH_CHILD"
	commandVariable = "CAIRN_CRASH_COMMAND"
)

func TestMain(m *testing.M) {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		syscall.Exit(code) // the race detector would wait a second in os.Exit
	}
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(serve(dir))
	}
	if os.Getenv(commandVariable) != "" {
		os.Exit(root.Main(host.Host{}, nil))
	}
	os.Exit(m.Run())
}

// serve is the child: cairn serve on the data of CAIRN_HOME, until it is killed.
func serve(dir string) int {
	if err := fault.FromEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := client.ServeOptions{Options: client.Options{Dir: dir, Env: os.Getenv, Version: "crash"}}
	err := host.Host{}.Serve(ctx, o, func(client.Listening) { fmt.Println("ready") })
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// world is one data folder, with the children that live and die on it.
type world struct {
	t        testing.TB
	home     string
	work     string
	effects  string
	provider *provider
}

func newWorld(t testing.TB, pause time.Duration) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{
		t:       t,
		home:    filepath.Join(root, "home"),
		work:    filepath.Join(root, "work"),
		effects: filepath.Join(root, "work", "effects"),
	}
	w.provider = newProvider(w.effects, pause)
	t.Cleanup(w.provider.Close)
	for _, dir := range []string{filepath.Join(w.home, "config"), w.work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.home, "config", "cairn.json"), []byte(w.provider.config()), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// child is one life of the server.
type child struct {
	cmd    *exec.Cmd
	client *api.Client
	ended  chan struct{}
	stderr *strings.Builder
}

// start returns when the child answers, or nil when a fault killed it before.
func (w *world) start(faults string) *child {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	life := w.provider.log.startLife()
	c := &child{cmd: exec.Command(self), ended: make(chan struct{}), stderr: &strings.Builder{}}
	c.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "CAIRN_HOME=" + w.home, "LIFE=" + life,
		childVariable + "=" + w.work, fault.Variable + "=" + faults,
	}
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	if line == "" {
		<-c.ended
		if faults == "" {
			w.t.Fatalf("the server did not start: %s", c.stderr)
		}
		return nil
	}
	socket := discovery.SocketPath(filepath.Join(w.home, "data"))
	c.client = &api.Client{Base: "http://localhost", Directory: w.work, HTTP: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}}
	return c
}

// kill ends the child as the kernel's out-of-memory killer would, and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
	c.client.HTTP.CloseIdleConnections()
}

// leave stops it in order.
func (c *child) leave() time.Duration {
	start := time.Now()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	<-c.ended
	c.client.HTTP.CloseIdleConnections()
	return time.Since(start)
}

// command runs cairn with the arguments as a process of its own, to its end. It works through the server if there is
// one.
func (w *world) command(args ...string) {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Dir = w.work
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "CAIRN_HOME=" + w.home, commandVariable + "=1"}
	if out, err := c.CombinedOutput(); err != nil {
		w.t.Fatalf("cairn %.60q: %v\n%s", args, err, out)
	}
}
