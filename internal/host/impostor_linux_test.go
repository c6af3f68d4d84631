package host

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/proctable"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// The environment of the processes of TestAnOwnerOfATool.
const (
	impostorHome = "HOST_TEST_IMPOSTOR"
	impostorWord = "HOST_TEST_IMPOSTOR_SERVES"
)

// newImpostor returns the command of a process of the test. Its argument is that of supervisors: commands of other
// tests, which run at the same time, end the processes with a call mark that have no supervisor.
func newImpostor(ctx context.Context, variable string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], process.SuperviseWord)
	cmd.Env = append(os.Environ(), variable)
	return cmd
}

// actAsTool plays a command of a tool on the home: it marks itself, leaves a daemon that serves, and is its client. It
// returns the daemon's pid and what the client was answered.
func actAsTool(home string) string {
	background := context.Background()
	if os.Getenv(impostorWord) != "" {
		err := Host{}.Serve(background, client.ServeOptions{Options: optionsOf(home), Hostname: "127.0.0.1"},
			func(l client.Listening) { fmt.Println(l.PID) })
		return err.Error()
	}
	if err := proctable.SetCallMark(proctable.NewCallMark()); err != nil {
		return err.Error()
	}
	cmd := newImpostor(background, impostorWord+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err.Error()
	}
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	c, err := Host{}.Open(background, optionsOf(home))
	if err != nil {
		return strings.TrimSpace(line) + " " + err.Error()
	}
	health, err := c.API.Health(background)
	return fmt.Sprint(strings.TrimSpace(line), " answers as ", health.PID, err)
}

// killDaemon kills a process that is no child of the test, and returns when it has ended: until then it writes to the
// home, which the test removes next.
func killDaemon(t *testing.T, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Errorf("process %d: %v", pid, err)
		return
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	end := time.Now().Add(time.Minute)
	for ended := 0; ended < 1 && time.Now().Before(end); {
		ended, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
	}
}

// A daemon that a command of a tool left can take the lease and serve as its user does. Neither a client nor a server
// of the user trusts it; commands of the same call do.
func TestAnOwnerOfATool(t *testing.T) {
	home, _ := newHome(t)
	out, why := newImpostor(t.Context(), impostorHome+"="+home).Output() // it exits with 1
	text, answer, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%v: %s", why, out)
	}
	t.Cleanup(func() { killDaemon(t, pid) })
	if answer != "answers as "+text+" <nil>" {
		t.Errorf("a command of the same call: %q", answer)
	}
	_, err = Host{}.Open(t.Context(), optionsOf(home))
	want := fmt.Sprintf("process %d, which owns the data", pid)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a command of a tool") {
		t.Errorf("a client: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = Host{}.Serve(ctx, client.ServeOptions{Options: optionsOf(home), Hostname: "127.0.0.1"},
		func(client.Listening) { cancel() })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server: %v", err)
	}
}
