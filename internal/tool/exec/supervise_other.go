//go:build !linux

package exec

import (
	"fmt"
	"os"
)

// RunSupervisor reports that supervisors exist on Linux only.
func RunSupervisor([]string) int {
	fmt.Fprintln(os.Stderr, "supervise: not on this system")
	return 125
}
