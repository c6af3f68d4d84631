//go:build !linux

package process

import (
	"errors"
	"fmt"
	"os"
)

// RunSupervisor reports that supervisors exist on Linux only.
func RunSupervisor() int {
	fmt.Fprintln(os.Stderr, "supervise: not on this system")
	return 125
}

var errNoSupervisor = errors.New("supervisors exist on Linux only")

func startSupervisor([]string, bool) (*supervisorProcess, error) { return nil, errNoSupervisor }

func (*supervisorProcess) sendOrder(supervisorOrder, ...*os.File) error {
	return errNoSupervisor
}

func (Spec) UsesNamespace() bool { return false }
