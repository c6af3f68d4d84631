package host

import "runtime/debug"

// An owner's heap is a few MiB at rest and its garbage is short-lived: history that was read, requests that were sent.
// Collecting it at three times the live heap instead of once takes a third off every long history, for RSS that stays
// far below spec/performance.md P4 and P12. Beyond softLimit the collector works as hard as it must.
const (
	collectAt = 300       // percent of the live heap
	softLimit = 192 << 20 // bytes
)

// tuneMemory applies to the whole process. Who sets GOGC or GOMEMLIMIT knows better.
func tuneMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
}
