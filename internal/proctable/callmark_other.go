//go:build !linux

package proctable

// NewCallMark returns 0: other systems have no mark that a process cannot remove.
func NewCallMark() uint64 { return 0 }

// HasCallMark returns false.
func HasCallMark() bool { return false }
