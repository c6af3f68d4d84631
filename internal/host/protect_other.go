//go:build !linux

package host

// protectProcess does nothing on this system.
func protectProcess() error { return nil }

// protectClient does nothing on this system.
func protectClient() error { return nil }
