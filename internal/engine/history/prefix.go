package history

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// SentPrefix is the prefix of the newest request that became a turn. The stored session.CachePrefix tells that a prefix
// changed; SentPrefix also tells which message or tool changed, for as long as its process keeps it.
type SentPrefix struct {
	Turn   session.MessageID
	Prefix llm.Prefix
}

// ComparePrefix returns what the turn records about the prefix of its request: its digests, and how it differs from the
// prefix of the request before. last is that prefix if this process sent the request; otherwise only the digests that
// its turn stored are compared, which name the changed part less exactly.
func (in *Input) ComparePrefix(now llm.Prefix, last SentPrefix) *session.CachePrefix {
	// Digest the request, so that a later process can compare without its text.
	out := &session.CachePrefix{
		Hash: now.MessagesSum(len(now.Messages)).String(), Model: now.Model.String(), System: now.SystemSum().String(),
		Tools: now.ToolsSum().String(), Messages: len(now.Messages), Mode: in.prefixMode(), Edits: in.History.edits,
	}
	// Without an earlier request nothing has changed, unless a compaction hides that request.
	before := in.History.LastRequested()
	if before == nil {
		if in.History.shown.Compaction >= 0 {
			out.Changed, out.Cause = "the messages before the summary are gone", session.CauseCompaction
		}
		return out
	}
	// Compare with the request itself if this process sent it, else with its digests.
	if last.Turn == before.ID {
		out.Changed = now.DescribeChange(last.Prefix)
	} else {
		out.Changed = compareDigests(before.Prefix, out, now)
	}
	// A change needs a cause. Without one it is an error that costs money, and is reported.
	if out.Changed != "" {
		out.Cause = in.prefixCause(before, out.Mode)
	}
	return out
}

// compareDigests names the part that differs from a request of which only the digests are stored.
func compareDigests(before, now *session.CachePrefix, p llm.Prefix) string {
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

// prefixCause returns the action since the turn before that had to change the prefix, "" if there was none.
func (in *Input) prefixCause(before *session.Assistant, mode session.PrefixMode) session.PrefixCause {
	excludedSince := func(x session.Exclusion) bool { return x.Through >= before.Seq }
	switch {
	case !before.Model.Equal(in.Model.Ref):
		return session.CauseModel
	case before.Agent != in.Agent.ID:
		return session.CauseAgent
	case in.History.shown.Compaction > before.Seq:
		return session.CauseCompaction
	case in.BaselineSeq >= before.Seq:
		return session.CauseContext
	case slices.ContainsFunc(in.Session.Excluded, excludedSince):
		return session.CauseExclusion
	case before.Prefix.Edits != in.History.edits:
		return session.CauseEdit
	case in.History.promptSystemOf(before.ParentID) != in.History.promptSystem():
		return session.CauseContext
	case before.Altered != nil, in.Altered != nil, in.Shown != nil:
		return session.CauseExtension
	case before.Prefix.Mode != mode, in.Output != nil && in.History.PromptSeq() > before.Seq:
		return session.CauseMode
	default:
		return ""
	}
}

func (in *Input) prefixMode() session.PrefixMode {
	switch {
	case in.Output != nil && in.Last:
		return session.ModeLastForm
	case in.Output != nil:
		return session.ModeForm
	case in.Last:
		return session.ModeLastStep
	default:
		return ""
	}
}

// ChangesPrefix reports whether the request begins otherwise than the request before, whatever the history shows: then
// a change of the history costs no cache. It is true if no request before is known.
func (in *Input) ChangesPrefix() bool {
	before := in.History.LastRequested()
	return before == nil || in.prefixCause(before, in.prefixMode()) != ""
}

// ReportedUsage returns what the provider reported of the newest request to the model whose messages are all still
// shown; nil without one.
func (h *History) ReportedUsage(m session.ModelRef) *scope.UsageReport {
	for _, message := range slices.Backward(h.messages) {
		a, ok := message.(*session.Assistant)
		if !ok || a.Prefix == nil || a.Tokens == nil || a.Prefix.Bytes == 0 {
			continue
		}
		if a.Seq < h.shown.Compaction || a.Prefix.Edits != h.edits || !a.Model.Equal(m) {
			return nil
		}
		input := a.Tokens.Input + a.Tokens.Cache.Read + a.Tokens.Cache.Write
		if input == 0 {
			return nil
		}
		return &scope.UsageReport{Input: input, Size: scope.RequestSize{
			Bytes: a.Prefix.Bytes, Dense: a.Prefix.Dense, Media: a.Prefix.Media,
		}}
	}
	return nil
}
