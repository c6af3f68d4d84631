package process

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// Stop does not signal a process that reuses the pid of an ended supervisor.
func TestStopSparesReusedPID(t *testing.T) {
	other := exec.CommandContext(t.Context(), "sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	p := &Process{cmd: other, callMark: proctable.NewCallMark(), done: make(chan struct{})}
	close(p.done)
	p.Stop(0)
	var ws syscall.WaitStatus
	if pid, err := syscall.Wait4(other.Process.Pid, &ws, syscall.WNOHANG, nil); pid != 0 || err != nil {
		t.Errorf("it has ended: %v %v", ws.Signal(), err)
	}
}
