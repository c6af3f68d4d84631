package root_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// runAsTool runs the command of its arguments as a process that a tool started.
func runAsTool() {
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = proctable.SetCallMark(proctable.NewCallMark())
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(125)
}
