package store

import "github.com/cairn-dev/cairn/internal/session"

// VisibleRange says which messages of a session its model is shown (spec/v2 §12): those since the newest compaction, and of the
// system messages those that the epoch's baseline does not contain, from before the compaction too.
type VisibleRange struct {
	Compaction int64 // seq of the newest one, -1 if there is none
	Baseline   int64 // seq up to which the epoch's baseline covers everything, -1 if there is no epoch
}

// After is a seq before everything that is shown, for a query.
func (s VisibleRange) After() int64 {
	after := s.Compaction - 1
	if s.Baseline >= 0 {
		after = min(after, s.Baseline)
	}
	return max(after, -1)
}

// Contains reports whether a message of the type with the seq is shown.
func (s VisibleRange) Contains(t session.MessageType, seq int64) bool {
	if t == session.TypeSystem && s.Baseline >= 0 {
		return seq > s.Baseline
	}
	return seq >= s.Compaction
}
