package opencode

import (
	"cmp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// summaryAgent is the agent of the message that has the summary of a compaction.
const summaryAgent = "compaction"

// compactionMessages converts a compaction to a prompt that asks for a summary, and the answer, the summary. A
// compaction whose Time.Completed is 0 is open: its summary is being written. failure is why it failed, or nil.
func compactionMessages(s *session.Session, m *session.Compaction, failure *session.Failure) []Message {
	request := userInfo(
		s,
		session.Head{ID: m.RequestID, Time: session.MessageTime{Created: m.Started}},
		m.Agent,
		m.Model,
	)
	// V1 shows a compaction as a request and its answer, which is a turn of the agent that summarises.
	answer := &Assistant{
		ID: m.ID, SessionID: s.ID, Role: "assistant", ParentID: m.RequestID, Mode: summaryAgent, Agent: summaryAgent,
		Path: Path{Cwd: s.Location.Directory, Root: worktreeOf(s)}, Summary: true,
		Time: session.MessageTime{Created: m.Started, Completed: m.Time.Completed},
	}
	if m.Writer != nil {
		answer.ModelID, answer.ProviderID, answer.Variant = m.Writer.ID, m.Writer.ProviderID, variantOf(*m.Writer)
	}
	if m.Request != nil {
		answer.Cost, answer.Tokens = m.Request.Cost, tokensOf(m.Request.Tokens)
	}
	head := func(id session.PartID, n int, kind string) Head {
		return Head{ID: partIDOr(id, m.ID, n), SessionID: s.ID, MessageID: m.ID, Type: kind}
	}
	// The parts of a turn, the end of which exists once it has ended.
	parts := []Part{
		&StepStartPart{Head: head(m.StartID, 0, "step-start")},
		&TextPart{
			Head: head(m.TextID, 1, "text"), Text: m.Summary, Time: &Time{Start: m.Started, End: m.Time.Completed},
		},
	}
	switch {
	case failure != nil:
		answer.Error = failure.PublicForm(answer.ProviderID)
	case m.Time.Completed != 0:
		answer.Finish, request.Summary = "stop", &UserSummary{Diffs: []FileDiff{}}
		parts = append(parts, &StepFinishPart{
			Head: head(m.EndID, 2, "step-finish"), Reason: "stop", Cost: answer.Cost, Tokens: answer.Tokens,
		})
	}
	return []Message{{Info: request, Parts: []Part{compactionPart(s.ID, m)}}, {Info: answer, Parts: parts}}
}

func compactionPart(id session.ID, m *session.Compaction) Part {
	p := &CompactionPart{
		Head: Head{ID: derivePartID(string(m.RequestID), 0), SessionID: id, MessageID: m.RequestID, Type: "compaction"},
		Auto: m.Reason == session.CompactionAuto || m.Proceed, TailStartID: m.Kept.MessageID,
	}
	if m.Reason == session.CompactionAuto {
		p.Overflow = &m.Overflow
	}
	return p
}

// openCompaction returns the compaction that an event begins.
func openCompaction(d *session.CompactionStarted) *session.Compaction {
	m := &session.Compaction{
		Head: session.Head{ID: d.MessageID, Type: session.TypeCompaction}, Reason: d.Reason, SummaryAs: d.SummaryAs,
	}
	m.Started = cmp.Or(m.Started, d.Timestamp)
	return m
}

// withCompletion returns the compaction with the time of its end, which is when its row was stored.
func withCompletion(m *session.Compaction) *session.Compaction {
	ended := *m
	ended.Time.Completed = m.Time.Created
	ended.Started = cmp.Or(m.Started, m.Time.Created)
	return &ended
}

// factsKey is the member of an exported summary's metadata that has what OpenCode's form of a compaction lacks.
const factsKey = "cairn"

// compactionFacts are the stored members of a compaction that go there.
var compactionFacts = []string{"record", "kept", "recent", "before", "after"}

// addFacts sets the members of the compaction that an export wrote to the metadata of its text.
func addFacts(c *session.Compaction, metadata jsontext.Value) {
	own := membersOfObject(membersOfObject(metadata)[factsKey])
	for _, name := range compactionFacts {
		if v := own[name]; v != nil {
			changed := *c
			if json.Unmarshal(memberOf(nil, name, v), &changed) == nil { // members of another shape are omitted
				*c = changed
			}
		}
	}
}

// requestMessage shows a request for a compaction that is in the inbox.
func requestMessage(
	s *session.Session, at int64, id session.MessageID, r session.CompactionRequest,
) Message {
	return compactionMessages(s, &session.Compaction{Reason: session.CompactionManual, SummaryAs: session.SummaryAs{
		RequestID: id, Proceed: r.Proceed, Started: at, Model: r.Model,
	}}, nil)[0]
}
