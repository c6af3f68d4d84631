package terminal

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiscardInput: complete lines that wait are counted and dropped, and so is the unfinished one.
func TestDiscardInput(t *testing.T) {
	t.Parallel()
	ours, theirs := openTerminal(t)
	if n := DiscardInput(int(theirs.Fd())); n != 0 {
		t.Errorf("nothing was typed, but %d lines are dropped", n)
	}
	if _, err := ours.WriteString("one\ntwo\npart"); err != nil {
		t.Fatal(err)
	}
	// The echo of the last character says that the terminal has taken all of them.
	var echo []byte
	for buf := make([]byte, 64); !bytes.Contains(echo, []byte("part")); {
		n, err := ours.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		echo = append(echo, buf[:n]...)
	}
	if n := DiscardInput(int(theirs.Fd())); n != 2 {
		t.Errorf("%d lines are dropped, want 2", n)
	}
	if _, err := ours.WriteString("\nthree\n"); err != nil {
		t.Fatal(err)
	}
	var buf [64]byte
	if n, err := theirs.Read(buf[:]); err != nil || string(buf[:n]) != "\n" {
		t.Errorf("the next line is %q: %v", buf[:n], err)
	}
}

// openTerminal returns the two ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = theirs.Close() })
	return ours, theirs
}
