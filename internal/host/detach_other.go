//go:build !unix

package host

import "syscall"

// detachedAttributes has no effect on this system.
func detachedAttributes() *syscall.SysProcAttr { return nil }
