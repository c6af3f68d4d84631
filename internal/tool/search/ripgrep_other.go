//go:build !linux

package search

// limitMemory does nothing on this system.
func limitMemory(int) {}
