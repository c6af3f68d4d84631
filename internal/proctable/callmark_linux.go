package proctable

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A call mark is the hard limit of RLIMIT_RTTIME that the processes of a tool call have. Every descendant inherits it,
// whatever it does to its environment, its session and its parents, and only a process with CAP_SYS_RESOURCE in the
// initial user namespace can raise it (setrlimit(2)). It is read of every process of the same user, also of those that
// are not dumpable. The limit is decades of CPU time, so it limits nothing.

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

// CallMark returns the mark of a process, of this one for 0; the largest number if it has none. A process can lower its
// mark, to 0 as well. ok is false if the process does not exist, belongs to another user, or cannot be read.
func CallMark(pid int) (mark uint64, ok bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit)
	if err == nil {
		return limit.Max, true
	}
	if err != unix.EPERM {
		return 0, false
	}
	return readLimitsFile(pid) // a process of another user, or with another group id
}

// readLimitsFile returns the mark of a process of this user from /proc/PID/limits.
func readLimitsFile(pid int) (mark uint64, ok bool) {
	dir := fmt.Sprintf("/proc/%d", pid)
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || int(st.Uid) != os.Getuid() {
		return 0, false
	}
	text, err := os.ReadFile(dir + "/limits")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, "Max realtime timeout")
		fields := strings.Fields(rest)
		if !found || len(fields) < 2 {
			continue
		}
		if fields[1] == "unlimited" {
			return math.MaxUint64, true
		}
		mark, err := strconv.ParseUint(fields[1], 10, 64)
		return mark, err == nil
	}
	return 0, false
}
