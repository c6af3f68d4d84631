//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether this process may read from the terminal.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
