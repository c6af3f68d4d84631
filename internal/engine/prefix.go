package engine

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// sent is the fingerprint of the newest request of which a turn came, kept while the session is at work: what is
// recorded tells that a prefix changed, this also which message or tool did.
type sent struct {
	turn   session.MessageID
	prefix llm.Prefix
}

// prefixed is what is recorded of the request: its prefix, and how it differs from the request before.
func (set *setting) prefixed(now llm.Prefix) *session.CachePrefix {
	out := &session.CachePrefix{
		Hash: now.MessagesSum(len(now.Messages)).String(), Model: now.Model.String(), System: now.SystemSum().String(),
		Tools: now.ToolsSum().String(), Messages: len(now.Messages), Mode: set.mode(),
		Edits: set.history.edits,
	}
	before := set.history.asked()
	if before == nil {
		if set.history.shown.Compaction >= 0 {
			out.Changed, out.Cause = "the messages before the summary are gone", session.CauseCompaction
		}
		return out
	}
	if set.history.sent.turn == before.ID {
		out.Changed = now.Change(set.history.sent.prefix)
	} else {
		out.Changed = changedSince(before.Prefix, out, now)
	}
	if out.Changed != "" {
		out.Cause = set.cause(before, out.Mode)
	}
	return out
}

// asked returns the newest turn that says what was asked for it; nil for none since the newest compaction.
func (h *history) asked() *session.Assistant {
	for _, m := range slices.Backward(h.messages) {
		if a, ok := m.(*session.Assistant); ok && a.Prefix != nil {
			return a
		}
	}
	return nil
}

// changedSince names the part that differs from a request of which only the record is left.
func changedSince(before, now *session.CachePrefix, p llm.Prefix) string {
	switch {
	case before.Model != now.Model:
		return "the model or its options changed"
	case before.Tools != now.Tools:
		return "the tools changed"
	case before.System != now.System:
		return "the system texts changed"
	case before.Messages > now.Messages, before.Hash != p.MessagesSum(before.Messages).String():
		return "an earlier message changed"
	default:
		return ""
	}
}

// cause is what was done since the turn before that had to change the prefix; "" if nothing was.
func (set *setting) cause(before *session.Assistant, mode session.PrefixMode) session.PrefixCause {
	since := func(x session.Exclusion) bool { return x.Through >= before.Seq }
	switch {
	case !before.Model.Equal(set.model.Ref):
		return session.CauseModel
	case before.Agent != set.agent.ID:
		return session.CauseAgent
	case set.history.shown.Compaction > before.Seq:
		return session.CauseCompaction
	case set.epoch.BaselineSeq >= before.Seq:
		return session.CauseContext
	case slices.ContainsFunc(set.session.Excluded, since):
		return session.CauseExclusion
	case before.Prefix.Edits != set.history.edits:
		return session.CauseEdit
	case set.history.brings(before.ParentID) != set.history.brought():
		return session.CauseContext
	case before.Prefix.Mode != mode, set.form != nil && set.history.promptedSince(before.Seq):
		return session.CauseMode
	default:
		return ""
	}
}

// promptedSince reports whether a prompt was promoted after the place.
func (h *history) promptedSince(seq int64) bool {
	return slices.ContainsFunc(h.messages, func(m session.Message) bool {
		u, ok := m.(*session.User)
		return ok && u.Seq > seq
	})
}

func (set *setting) mode() session.PrefixMode {
	switch {
	case set.form != nil && set.final:
		return session.ModeLastForm
	case set.form != nil:
		return session.ModeForm
	case set.final:
		return session.ModeLastStep
	default:
		return ""
	}
}

// begun keeps what the turn asked, once the turn is recorded, and raises the alarm if its prefix changed by itself: that
// costs the whole conversation again.
func (t *turn) begun() {
	if t.prefix == nil {
		return // it asked nothing
	}
	t.set.history.sent = sent{t.message, t.sends}
	if changed := t.prefix.Alarm(); changed != "" {
		t.logger.Warn("a request does not begin as the one before, so that the provider's cache is of no use", "session", t.id, "turn", t.message, "changed", changed)
	}
}
