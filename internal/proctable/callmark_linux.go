package proctable

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// A call mark is the hard limit of RLIMIT_RTTIME that the processes of a tool call have. Every descendant inherits it,
// whatever it does to its environment, its session and its parents, and only a process with CAP_SYS_RESOURCE in the
// initial user namespace can raise it (setrlimit(2)). It is read of every process of the same user, also of those that
// are not dumpable. The limit is decades of CPU time, so it limits nothing.

// NewCallMark returns a mark for one call. It is lower than the limit of this process, which may have a mark itself.
func NewCallMark() uint64 {
	own := CallMark(0)
	return own/2 + rand.Uint64N(own/4)
}

// SetCallMark marks this process.
func SetCallMark(mark uint64) error {
	return unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: mark})
}

// CallMark returns the mark of a process, of this one for 0. A process without one has the largest. It is 0 for a
// process that does not exist or belongs to another user.
func CallMark(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		return 0
	}
	return limit.Max
}
