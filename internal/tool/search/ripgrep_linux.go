package search

import (
	"golang.org/x/sys/unix"
)

// ripgrepMemory bounds the memory of ripgrep, which holds whole lines.
const ripgrepMemory = 2 << 30

// limitMemory bounds the memory of a running process. If it needs more, it fails.
func limitMemory(pid int) {
	_ = unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: ripgrepMemory, Max: ripgrepMemory}, nil) // it may have ended
}
