package host

import "runtime/debug"

// The heap of an owner is a few MiB at rest, and its garbage is short-lived: history that was read, requests that were
// sent. Collecting at three times the live heap instead of twice saves a third of the time of every long history.
// Beyond softLimit the collector runs as often as it must.
const (
	gcPercent = 300       // of the live heap
	softLimit = 192 << 20 // bytes
)

// tuneMemory configures the collector for the whole process, unless GOGC or GOMEMLIMIT do.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
}
