package opencode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// shellNote is the text that V1 puts before a user command; clients look for it.
const shellNote = "The following tool was executed by the user"

// shellMessage converts a user command to a synthetic prompt and an answer that calls bash.
func shellMessage(s *session.Session, m *session.Shell) []Message {
	note := &TextPart{
		Head:      Head{ID: partIDOr(m.NoteID, m.ID, 0), SessionID: s.ID, MessageID: m.ID, Type: "text"},
		Text:      shellNote,
		Synthetic: true,
	}
	a := &Assistant{
		ID: m.AnswerID, SessionID: s.ID, Role: "assistant", Time: m.Time, ParentID: m.ID, Mode: m.Agent, Agent: m.Agent,
		Path: Path{Cwd: s.Location.Directory, Root: worktreeOf(s)},
	}
	if m.Model != nil {
		a.ModelID, a.ProviderID, a.Variant = m.Model.ID, m.Model.ProviderID, variantOf(*m.Model)
	}
	return []Message{
		{
			Info:  userInfo(s, session.Head{ID: m.ID, Time: session.MessageTime{Created: m.Time.Created}}, m.Agent, m.Model),
			Parts: []Part{note},
		},
		{Info: a, Parts: []Part{shellCall(s.ID, m, "")}},
	}
}

// shellCall returns the call of a user command; outputSoFar is the output of a running one.
func shellCall(id session.ID, m *session.Shell, soFar string) Part {
	p := &ToolPart{
		Head:   Head{ID: partIDOr(m.PartID, m.AnswerID, 0), SessionID: id, MessageID: m.AnswerID, Type: "tool"},
		CallID: m.CallID, Tool: "bash",
	}
	input := memberOf(nil, "command", m.Command)
	if m.Time.Completed != 0 {
		p.State = &ToolCompleted{
			Status: "completed", Input: input, Output: m.Output, Metadata: memberOf(nil, "output", m.Output),
			Time: CompletedTime{Start: m.Time.Created, End: m.Time.Completed},
		}
		return p
	}
	var metadata jsontext.Value
	if soFar != "" {
		metadata = memberOf(nil, "output", soFar)
	}
	p.State = &ToolRunning{Status: "running", Input: input, Metadata: metadata, Time: Time{Start: m.Time.Created}}
	return p
}

// outputSoFar returns the output so far of a running command.
func outputSoFar(p *session.ToolProgress) string {
	var said struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(p.Structured, &said) // written by cairn's own tool
	return said.Output
}

// IsAnswerOf reports whether id is the message that V1 shows as the command's answer.
func IsAnswerOf(m *session.Shell, id session.MessageID) bool { return m != nil && m.AnswerID == id }
