//go:build !unix

package terminal

import "os"

// isForeground reports whether this process may read from the terminal.
func isForeground(*os.File) bool { return true }
