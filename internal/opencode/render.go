package opencode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// IsVisible reports whether V1 can represent the message; Render omits the others.
func IsVisible(m session.Message) bool {
	switch m.(type) {
	case *session.User, *session.Assistant, *session.Synthetic, *session.Shell, *session.Compaction:
		return true
	default:
		return false
	}
}

// Render converts messages of the session in order and omits those that V1 cannot represent. answered means that an
// answer to the last prompt follows later in the session.
func Render(s *session.Session, ms []session.Message, answered bool) []Message {
	out := make([]Message, 0, len(ms))
	asked := session.MessageID("")
	for i, m := range ms {
		switch m := m.(type) {
		case *session.User:
			asked = m.ID
			v := userMessage(s, m)
			answer, found := findAnswer(ms[i+1:], m.ID)
			v.Info.(*User).fillSelection(m, answer)
			// Nothing is announced of a command for subagents but what they changed: the model answers their report.
			if changed := summaryOf(m); (answered || found) && (!m.IsSubtaskCommand() || len(changed.Diffs) > 0) {
				v.Info.(*User).Summary = changed
			}
			out = append(out, restoreImported(&m.Head, v))
		case *session.Assistant:
			v := Message{Info: assistantInfo(s, m), Parts: stepParts(s, m)}
			if a := v.Info.(*Assistant); a.ParentID == "" { // of an older record
				a.ParentID = asked
			}
			out = append(out, restoreImported(&m.Head, v))
		case *session.Synthetic:
			v := syntheticMessage(s, m)
			answer, found := findAnswer(ms[i+1:], m.ID)
			v.Info.(*User).fillSelection(SyntheticPrompt(m), answer)
			if answered || found {
				v.Info.(*User).Summary = &UserSummary{Diffs: []FileDiff{}}
			}
			out = append(out, v)
		case *session.Compaction:
			out = append(out, renderCompaction(s, m)...)
		case *session.Shell:
			out = append(out, shellMessage(s, m)...)
		}
	}
	return out
}

// findAnswer returns the first answer of the messages if it is to the prompt or of an older record; nil for a summary.
func findAnswer(ms []session.Message, prompt session.MessageID) (answer *session.Assistant, found bool) {
	for _, m := range ms {
		switch m := m.(type) {
		case *session.Compaction:
			if m.RequestID == prompt {
				return nil, true
			}
		case *session.Assistant:
			if m.ParentID == "" || m.ParentID == prompt {
				return m, true
			}
			return nil, false
		}
	}
	return nil, false
}

// renderCompaction converts a stored compaction. A record without the ids of the pair is not shown; of an imported one
// whose request is a message of its own only the summary is.
func renderCompaction(s *session.Session, m *session.Compaction) []Message {
	if m.RequestID == "" {
		return nil
	}
	pair := compactionMessages(s, withCompletion(m), nil)
	raw := membersOfObject(m.Extra)[importedFormKey]
	var f importedCompaction
	if raw == nil || json.Unmarshal(raw, &f) != nil {
		return pair
	}
	pair[0], pair[1] = f.Request.restore(pair[0]), f.Summary.restore(pair[1])
	if f.Alone {
		return pair[1:]
	}
	return pair
}

// RenderExport is Render for an export: compactions have their facts.
func RenderExport(s *session.Session, ms []session.Message) []Message {
	out, facts := Render(s, ms, false), map[session.MessageID]jsontext.Value{}
	for _, m := range ms {
		c, ok := m.(*session.Compaction)
		if !ok || membersOfObject(c.Extra)[importedFormKey] != nil {
			continue
		}
		all, own := membersOf(c), map[string]jsontext.Value{}
		for _, name := range compactionFacts {
			if v := all[name]; v != nil && string(v) != `""` {
				own[name] = v
			}
		}
		facts[c.ID] = memberOf(nil, factsKey, objectOf(own))
	}
	for _, v := range out {
		if id, _ := IDAndTime(v.Info); facts[id] != nil {
			v.Parts[1].(*TextPart).Metadata = facts[id]
		}
	}
	return out
}

// PendingMessages returns what V1 shows after the history: the open compaction and the pending inputs.
func PendingMessages(s *session.Session, pending []*session.Input) (out []Message) {
	if s.Compacting != nil {
		out = compactionMessages(s, openCompaction(s.Compacting), nil)
	}
	for _, in := range pending {
		out = append(out, PendingMessage(s, in))
	}
	return out
}

// PendingMessage shows an input that is not promoted yet; V1 shows prompts at once.
func PendingMessage(s *session.Session, in *session.Input) Message {
	if in.Compaction != nil {
		return requestMessage(s, in.TimeCreated, in.ID, *in.Compaction)
	}
	return userMessage(s, InputMessage(in))
}
