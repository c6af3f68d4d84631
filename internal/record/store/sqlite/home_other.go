//go:build !unix

package sqlite

const noFollow = 0

// syncDir does nothing: folders cannot be synced on this system.
func syncDir(string) error { return nil }
