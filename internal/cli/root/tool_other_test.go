//go:build !linux

package root_test

// runAsTool does nothing: only Linux shows that a tool started a process.
func runAsTool() {}
