//go:build !linux

package peer

// ProtectProcess does nothing on this system.
func ProtectProcess() error { return nil }

// ProtectClient does nothing on this system.
func ProtectClient() error { return nil }
