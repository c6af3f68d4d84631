//go:build !unix

package cli

import "os"

// foreground reports whether this process may read from the terminal.
func foreground(*os.File) bool { return true }
