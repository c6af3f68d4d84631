package store

import (
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/session"
)

// VisibleRange is the part of a session's messages that the model sees: the newest compaction and the messages that it
// keeps, all messages after it, and the system messages after the epoch's baseline, even from before the compaction.
type VisibleRange struct {
	Compaction int64 // seq of the newest compaction, -1 without one
	Keep       int64 // seq of the first message that the compaction keeps; Compaction if it keeps none
	Prompt     int64 // seq of a prompt before Keep that it keeps, too, 0 without them
	Baseline   int64 // seq up to which the epoch's baseline covers system messages, -1 without an epoch
}

// EverythingVisible is the range of a session without compactions and epoch.
var EverythingVisible = VisibleRange{Compaction: -1, Keep: -1, Baseline: -1}

// ReadVisibleRange returns the session's range.
func ReadVisibleRange(r Reader, id session.ID) (VisibleRange, error) {
	v := EverythingVisible
	m, ok, err := NewestMessage(r, id, session.TypeCompaction)
	if err != nil {
		return v, err
	}
	if c, isCompaction := m.(*session.Compaction); ok && isCompaction {
		if v, err = rangeAfter(r, id, c); err != nil {
			return v, err
		}
	}
	e, ok, err := r.Epoch(id)
	if ok && err == nil {
		v.Baseline = e.BaselineSeq
	}
	return v, err
}

// rangeAfter returns the range after the compaction, without the baseline. What it keeps is named by ids, which survive
// copies of a session; the seq counts if the message was removed.
func rangeAfter(r Reader, id session.ID, c *session.Compaction) (VisibleRange, error) {
	v := VisibleRange{Compaction: c.Seq, Keep: cmp.Or(c.Kept.Seq, c.Seq), Baseline: -1}
	for _, kept := range []struct {
		id  session.MessageID
		seq *int64
	}{{c.Kept.MessageID, &v.Keep}, {c.Kept.PromptID, &v.Prompt}} {
		if kept.id == "" {
			continue
		}
		m, ok, err := FindMessage(r, id, kept.id)
		if err != nil {
			return v, err
		}
		if ok && m.Meta().Seq < c.Seq {
			*kept.seq = m.Meta().Seq
		}
	}
	return v, nil
}

// After returns a seq before the first visible message but Prompt, for a query.
func (v VisibleRange) After() int64 {
	after := v.Keep - 1
	if v.Baseline >= 0 {
		after = min(after, v.Baseline)
	}
	return max(after, -1)
}

// Contains reports whether a message of the type with the seq is visible.
func (v VisibleRange) Contains(t session.MessageType, seq int64) bool {
	switch {
	case t == session.TypeSystem && v.Baseline >= 0:
		return seq > v.Baseline
	case t == session.TypeCompaction:
		return seq == v.Compaction
	default:
		return seq >= v.Keep || v.Prompt > 0 && seq == v.Prompt
	}
}

// ShowsBefore reports whether the model sees the first message before the second one: the compaction comes first.
func (v VisibleRange) ShowsBefore(first, second int64) bool {
	return second != v.Compaction && (first == v.Compaction || first < second)
}

// ReadVisible reads the session's visible messages as they are stored, in the order in which the model sees them: the
// compaction before what it keeps.
func ReadVisible(r Reader, id session.ID) ([]RawMessage, error) {
	v, err := ReadVisibleRange(r, id)
	if err != nil {
		return nil, err
	}
	ms, err := ReadRawMessages(r, id, MessageQuery{After: v.After()})
	if err != nil {
		return nil, err
	}
	ms = slices.DeleteFunc(ms, func(m RawMessage) bool { return !v.Contains(m.Type, m.Seq) })
	if v.Prompt > 0 && v.Prompt <= v.After() {
		prompt, err := ReadRawMessages(r, id, MessageQuery{After: v.Prompt - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		ms = append(prompt, ms...)
	}
	slices.SortFunc(ms, func(a, b RawMessage) int {
		if v.ShowsBefore(a.Seq, b.Seq) {
			return -1
		}
		return 1
	})
	return ms, nil
}
