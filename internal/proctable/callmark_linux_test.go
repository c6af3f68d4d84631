package proctable

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// markWord makes this binary a process with a mark. It is the word of the supervisors of tool/exec, whose tests, which
// run beside these, kill processes with a mark that have no supervisor above them.
const markWord = "__supervise"

// TestMain runs this binary as a process that marks itself and then runs a shell command.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != markWord {
		os.Exit(m.Run())
	}
	if own, err := strconv.ParseUint(os.Args[2], 10, 64); err == nil { // only a lower limit, and the next mark
		fmt.Println(SetCallMark(own), NewCallMark())
		return
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
	if _, ok := CallMark(1 << 30); ok {
		t.Error("a process that does not exist has a mark")
	}
	if mark, ok := readRealtimeLimit(os.Getpid()); !ok || mark != none {
		t.Errorf("/proc has the mark %d, %v; want %d", mark, ok, none)
	}
}

// A process below the lowest mark still starts commands, with a mark that it may set.
func TestLowestCallMark(t *testing.T) {
	for limit, want := range map[string]string{"3": "<nil> 1\n", "1": "<nil> 0\n", "0": "<nil> 0\n"} {
		out, err := exec.Command(os.Args[0], markWord, limit).CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%v: with the limit %s, a new mark is %q, want %q", err, limit, out, want)
		}
	}
}
