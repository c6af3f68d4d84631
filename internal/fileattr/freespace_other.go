//go:build !linux && !darwin

package fileattr

// FreeSpace returns the free bytes of the disk of a path; ok is false if they are unknown.
func FreeSpace(string) (bytes int64, ok bool) { return 0, false }
