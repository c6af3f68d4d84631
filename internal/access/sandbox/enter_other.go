//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Check returns why there is no sandbox on this system.
func Check() error { return errors.New("it exists on Linux only") }

// Enter fails: the sandbox exists on Linux only.
func Enter([]string) int {
	fmt.Fprintln(os.Stderr, "sandbox: the command was not run:", Check())
	return 126
}

// IsolateCommand prepares nothing on this system.
func IsolateCommand([]string, *syscall.SysProcAttr) (isolated []string, ok bool) { return nil, false }

// ReadRulesets keeps nothing on this system.
type ReadRulesets struct{}

// Open fails: the sandbox exists on Linux only.
func (*ReadRulesets) Open(Policy) (*os.File, error) { return nil, Check() }

// Namespace is empty on this system.
type Namespace struct{}

// CheckSignals returns why there is no sandbox on this system.
func CheckSignals() error { return Check() }

// CheckNamespace returns why there is no sandbox on this system.
func CheckNamespace() error { return Check() }
