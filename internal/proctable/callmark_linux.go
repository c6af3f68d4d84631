package proctable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A call mark is the hard limit of RLIMIT_RTTIME that the processes of a tool call have. Every descendant inherits it,
// whatever it does to its environment, its session and its parents, and only a process with CAP_SYS_RESOURCE in the
// initial user namespace can raise it (setrlimit(2)). It can be read of every process, also of those that are not
// dumpable or belong to another user or group. The limit is decades of CPU time, so it limits nothing.

// NewCallMark returns a mark for one call. It is lower than the limit of this process, which may have a mark itself.
func NewCallMark() uint64 {
	own := OwnCallMark()
	return own/2 + rand.Uint64N(own/4+1)
}

// SetCallMark marks this process.
func SetCallMark(mark uint64) error {
	return unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: mark})
}

// OwnCallMark returns the mark of this process; the largest number if it has none.
func OwnCallMark() uint64 {
	mark, _ := CallMark(0)
	return mark
}

// HasCallMark reports whether this process has a mark: a tool started it, or it has a limit of its own (ulimit -R).
func HasCallMark() bool { return OwnCallMark() != unix.RLIM_INFINITY }

// CallMark returns the mark of a process, of this one for 0. A process without one has the largest, and a process can
// lower its mark, to 0 as well. ok is false if the mark cannot be read, as that of a process that has exited.
func CallMark(pid int) (mark uint64, ok bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit)
	if errors.Is(err, unix.EPERM) { // another user or group; its limits are a file that all can read
		return readRealtimeLimit(pid)
	}
	return limit.Max, err == nil
}

// readRealtimeLimit returns the hard limit of RLIMIT_RTTIME from /proc/PID/limits.
func readRealtimeLimit(pid int) (uint64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	_, line, ok := strings.Cut(string(text), "\nMax realtime timeout ")
	fields := strings.Fields(line) // soft, hard, unit
	if err != nil || !ok || len(fields) < 2 {
		return 0, false
	}
	if fields[1] == "unlimited" {
		return unix.RLIM_INFINITY, true
	}
	limit, err := strconv.ParseUint(fields[1], 10, 64)
	return limit, err == nil
}
