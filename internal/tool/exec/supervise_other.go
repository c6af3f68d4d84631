//go:build !linux

package exec

import (
	"fmt"
	"os"
)

// Supervise reports that supervisors exist on Linux only.
func Supervise([]string) int {
	fmt.Fprintln(os.Stderr, "supervise: not on this system")
	return 125
}
