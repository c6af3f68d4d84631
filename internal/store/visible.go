package store

import "github.com/cairn-dev/cairn/internal/session"

// VisibleRange is the part of a session's messages that the model sees: the messages since the newest compaction,
// and the system messages after the epoch's baseline, even from before the compaction.
type VisibleRange struct {
	Compaction int64 // seq of the newest compaction, -1 without one
	Baseline   int64 // seq up to which the epoch's baseline covers system messages, -1 without an epoch
}

// After returns a seq before the first visible message, for a query.
func (s VisibleRange) After() int64 {
	after := s.Compaction - 1
	if s.Baseline >= 0 {
		after = min(after, s.Baseline)
	}
	return max(after, -1)
}

// Contains reports whether a message of the type with the seq is visible.
func (s VisibleRange) Contains(t session.MessageType, seq int64) bool {
	if t == session.TypeSystem && s.Baseline >= 0 {
		return seq > s.Baseline
	}
	return seq >= s.Compaction
}
