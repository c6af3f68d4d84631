package search

import (
	"golang.org/x/sys/unix"
)

// ripgrepMemory bounds what ripgrep takes: it holds lines, and a file may be one line.
const ripgrepMemory = 2 << 30

// limitMemory bounds the memory of a process that was just started. One that needs more fails.
func limitMemory(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: ripgrepMemory, Max: ripgrepMemory}, nil) // it may have ended
}
