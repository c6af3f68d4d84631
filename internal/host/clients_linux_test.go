package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/api"
)

// The environment of the processes of TestClientsCannotBeTakenOver: what to do, in which home, and at which URL.
const (
	takenRole = "HOST_TEST_TAKEN_ROLE"
	takenHome = "HOST_TEST_TAKEN_HOME"
	takenURL  = "HOST_TEST_TAKEN_URL"
)

// playTaken is a server, or a client that is connected until its input ends.
func playTaken(role string) string {
	ctx, o := context.Background(), optionsOf(os.Getenv(takenHome))
	if role == "server" {
		err := Host{}.Serve(ctx, client.ServeOptions{Options: o, Hostname: "127.0.0.1"},
			func(l client.Listening) { fmt.Println(l.URL) })
		return fmt.Sprint(err)
	}
	client := &api.Client{HTTP: &http.Client{}, Base: os.Getenv(takenURL)}
	switch role {
	case "session":
		c, err := Host{}.Open(ctx, o)
		if err != nil {
			return err.Error()
		}
		client = c.API
	case "attach":
		own, err := Host{}.OwnTransport(ctx, o, strings.Replace(client.Base, "127.0.0.1", "localhost", 1))
		if err != nil || own == nil {
			return fmt.Sprint("no own server: ", err)
		}
		client.HTTP.Transport = own
	}
	if _, err := client.Health(ctx); err != nil {
		return err.Error()
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return "ended"
}

// startTaken starts a process and returns its pid and the first line that it prints.
func startTaken(t *testing.T, role, home, address string) (pid int, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), takenRole+"="+role, takenHome+"="+home, takenURL+"="+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, _ = bufio.NewReader(out).ReadString('\n')
	return cmd.Process.Pid, strings.TrimSpace(line)
}

// Other processes of the user can neither read a client of the socket nor take its connection, also if it was given the
// server's address. A client over TCP stays open: the server identifies it by its open files.
func TestClientsCannotBeTakenOver(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("TestClientsCannotBeTakenOverAsUser runs it: root can read every process")
	}
	home, _ := newHome(t)
	_, address := startTaken(t, "server", home, "")
	for role, isOpen := range map[string]bool{"session": false, "attach": false, "tcp": true} {
		pid, line := startTaken(t, role, home, address)
		if line != "connected" {
			t.Fatalf("%s: %q", role, line)
		}
		_, environment := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		_, files := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err == nil {
			_ = memory.Close()
		}
		handle, failed := unix.PidfdOpen(pid, 0)
		if failed != nil {
			t.Fatal(failed)
		}
		_, taken := unix.PidfdGetfd(handle, 0, 0)
		_ = unix.Close(handle)
		for what, err := range map[string]error{"environment": environment, "files": files, "memory": err, "input": taken} {
			if what == "input" && isOpen { // Yama may forbid it all the same
				continue
			}
			if (err == nil) != isOpen {
				t.Errorf("%s, %s: %v", role, what, err)
			}
		}
	}
}

// TestClientsCannotBeTakenOverAsUser runs TestClientsCannotBeTakenOver as a user without privileges.
func TestClientsCannotBeTakenOverAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestClientsCannotBeTakenOver ran without privileges")
	}
	const user = 12345
	dir, err := os.MkdirTemp("/tmp", "taken")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "host.test")
	if err := os.WriteFile(self, bin, 0o755); err != nil { //nolint:gosec // another user runs it
		t.Fatal(err)
	}
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestClientsCannotBeTakenOver$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
