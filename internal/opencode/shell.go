package opencode

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// shellNote is what V1 says in front of a command of the user's; clients look for it.
const shellNote = "The following tool was executed by the user"

// shell shows a command that the user ran as a prompt of the system's and an answer that calls bash.
func shell(s *session.Session, m *session.Shell) []Message {
	note := &TextPart{Head: Head{ID: named(m.NoteID, m.ID, 0), SessionID: s.ID, MessageID: m.ID, Type: "text"}, Text: shellNote, Synthetic: true}
	a := &Assistant{
		ID: m.AnswerID, SessionID: s.ID, Role: "assistant", Time: m.Time, ParentID: m.ID, Mode: m.Agent, Agent: m.Agent,
		Path: Path{Cwd: s.Location.Directory, Root: worktree(s)},
	}
	if m.Model != nil {
		a.ModelID, a.ProviderID, a.Variant = m.Model.ID, m.Model.ProviderID, variant(*m.Model)
	}
	return []Message{
		{Info: user(s, session.Head{ID: m.ID, Time: session.MessageTime{Created: m.Time.Created}}, m.Agent, m.Model), Parts: []Part{note}},
		{Info: a, Parts: []Part{shellCall(s.ID, m, "")}},
	}
}

// shellCall is the call of a command of the user's; soFar is what one that runs has printed.
func shellCall(id session.ID, m *session.Shell, soFar string) Part {
	p := &ToolPart{
		Head:   Head{ID: named(m.PartID, m.AnswerID, 0), SessionID: id, MessageID: m.AnswerID, Type: "tool"},
		CallID: m.CallID, Tool: "bash",
	}
	input := member(nil, "command", m.Command)
	if m.Time.Completed != 0 {
		p.State = &ToolCompleted{
			Status: "completed", Input: input, Output: m.Output, Metadata: member(nil, "output", m.Output),
			Time: CompletedTime{Start: m.Time.Created, End: m.Time.Completed},
		}
		return p
	}
	var metadata jsontext.Value
	if soFar != "" {
		metadata = member(nil, "output", soFar)
	}
	p.State = &ToolRunning{Status: "running", Input: input, Metadata: metadata, Time: Time{Start: m.Time.Created}}
	return p
}

// shellStarted tells of a command that begins.
func (f *Fold) shellStarted(m *session.Shell) (out []Event) {
	f.shell = m
	for _, v := range shell(f.Session, m) {
		out = append(out, f.message(v.Info), f.part(v.Parts[0], m.Time.Created))
	}
	return out
}

// shellEnded tells how a command ended.
func (f *Fold) shellEnded(d *session.ShellEnded) []Event {
	if f.shell == nil || f.shell.CallID != d.CallID {
		return nil
	}
	f.shell.Output, f.shell.Time.Completed = d.Output, d.Timestamp
	v := shell(f.Session, f.shell)[1]
	return []Event{f.message(v.Info), f.part(v.Parts[0], d.Timestamp)}
}

// soFar is what a command has printed that runs.
func soFar(p *session.ToolProgress) string {
	var said struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(p.Structured, &said) // of our own tool
	return said.Output
}

// Answers reports whether the id is that of the answer as what V1 shows the command.
func Answers(m *session.Shell, id session.MessageID) bool { return m != nil && m.AnswerID == id }
