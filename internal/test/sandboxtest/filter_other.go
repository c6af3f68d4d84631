//go:build !linux

package sandboxtest

import "errors"

// restartFiltered fails: the sandbox exists on Linux only.
func restartFiltered() error { return errors.New("it exists on Linux only") }
