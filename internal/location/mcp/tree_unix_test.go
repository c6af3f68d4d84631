//go:build unix

package mcp_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/mcp"
)

// With a server, everything ends that it started.
func TestCloseEndsTheTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcp.Options{}, map[string]config.MCP{"one": local("children")})
	w.connect("one")
	pid, err := strconv.Atoi(w.text("one_echo", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the child of the server: %v", err)
	}
	w.pool.Close()
	if err := syscall.Kill(pid, 0); err == nil && !isZombie(pid) {
		t.Error("a process that the server started is alive after Close")
	}
}

func isZombie(pid int) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.Contains(string(text), ") Z ")
}

// startChild starts a process that leaves the server's session and stays, and returns its id.
func startChild() int {
	in, out, _ := os.Pipe()
	cmd := exec.Command(os.Args[0], serverWord, "linger")
	cmd.Stdin, cmd.Env, cmd.SysProcAttr = in, []string{}, &syscall.SysProcAttr{Setsid: true}
	_ = cmd.Start()
	_ = in.Close()
	_ = out // stays open as long as this process
	return cmd.Process.Pid
}
