//go:build !unix

package sqlite

const noFollow = 0

// syncDir does nothing: folders cannot be synced here.
func syncDir(string) error { return nil }
