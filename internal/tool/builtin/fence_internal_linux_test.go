package builtin

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What is in a fence is killed at once, and the fence goes with it. Where no control group may be made there is none.
func TestFence(t *testing.T) {
	f := newFence(10)
	if f == nil {
		t.Skip("no control group may be made here")
	}
	cmd := exec.Command("/bin/sh", "-c", "trap '' TERM; while :; do sleep 1000; done")
	cmd.SysProcAttr = f.around(attributes())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.remove() // it is in use, so it stays
	if _, err := os.Stat(f.dir); err != nil {
		t.Fatal(err)
	}
	f.kill()
	err := cmd.Wait()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Fatal(err)
	}
	parent := filepath.Dir(f.dir)
	removeFences(parent, time.Now().Add(-fenceAge)) // it may be about to be used
	if _, err := os.Stat(f.dir); err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range 500 { // its sleep may take a moment to be gone
		removeFences(parent, time.Now().Add(time.Second))
		if _, err := os.Stat(f.dir); os.IsNotExist(err) {
			return
		}
		<-ticker.C
	}
	t.Fatal("the fence is still there")
}
