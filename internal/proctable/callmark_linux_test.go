package proctable

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const markWord = "bear-a-call-mark"

// TestMain runs this binary as a process that marks itself and then runs a shell command.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != markWord {
		os.Exit(m.Run())
	}
	mark := NewCallMark()
	if err := SetCallMark(mark); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(mark)
	cmd := exec.Command("/bin/sh", "-c", os.Args[2])
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
}

// A mark is inherited by whatever a process starts, below that of the process that gave it, and two calls differ.
func TestCallMark(t *testing.T) {
	none := OwnCallMark()
	if a, b := NewCallMark(), NewCallMark(); a == b || a >= none || a < none/2 {
		t.Errorf("marks %d and %d below %d", a, b, none)
	}
	script := "exec env -i setsid /bin/sh -c 'grep realtime /proc/self/limits'"
	out, err := exec.Command(os.Args[0], markWord, script).CombinedOutput()
	lines := strings.SplitN(string(out), "\n", 2)
	if err != nil || len(lines) != 2 || !strings.Contains(lines[1], " "+lines[0]+" ") {
		t.Fatalf("%v: a descendant of a process with the mark %s has:\n%s", err, lines[0], out)
	}
	if mark, ok := CallMark(1 << 30); ok {
		t.Errorf("a process that does not exist has the mark %d", mark)
	}
	if mark, ok := readLimitsFile(os.Getpid()); !ok || mark != none {
		t.Errorf("%d in the file, %d by the call", mark, none)
	}
}
