//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// isForeground reports whether this process may read from the terminal.
func isForeground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
