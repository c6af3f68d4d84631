package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Message is what the operations on messages show: a User or an Assistant, and its parts.
type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

// Info is a User or an Assistant, by pointer.
type Info interface{ info() }

// User is OpenCode's UserMessage.
type User struct {
	ID        session.MessageID `json:"id"`
	SessionID session.ID        `json:"sessionID"`
	Role      string            `json:"role"` // "user"
	Time      Created           `json:"time"`
	Summary   *UserSummary      `json:"summary,omitzero"` // once it is being answered
	Agent     string            `json:"agent"`
	Model     Model             `json:"model"`
	Format    *Format           `json:"format,omitzero"`
	System    string            `json:"system,omitzero"` // that its prompt brought
}

// Created is when something was.
type Created struct {
	Created int64 `json:"created"`
}

// UserSummary is what the answers to a prompt changed.
type UserSummary struct {
	Diffs []FileDiff `json:"diffs"`
}

// Model names a model in a message.
type Model struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Variant    string `json:"variant,omitzero"`
}

// Assistant is OpenCode's AssistantMessage: one step.
type Assistant struct {
	ID         session.MessageID   `json:"id"`
	SessionID  session.ID          `json:"sessionID"`
	Role       string              `json:"role"` // "assistant"
	Time       session.MessageTime `json:"time"`
	ParentID   session.MessageID   `json:"parentID"`
	ModelID    string              `json:"modelID"`
	ProviderID string              `json:"providerID"`
	Variant    string              `json:"variant,omitzero"`
	Mode       string              `json:"mode"` // the agent, for older clients
	Agent      string              `json:"agent"`
	Path       Path                `json:"path"`
	Cost       session.USD         `json:"cost"`
	Tokens     Tokens              `json:"tokens"`
	Finish     string              `json:"finish,omitzero"`
	Error      *Error              `json:"error,omitzero"`
	Structured jsontext.Value      `json:"structured,omitzero"`
}

// Path is where a step worked.
type Path struct {
	Cwd  string `json:"cwd"`
	Root string `json:"root"`
}

func (*User) info()      {}
func (*Assistant) info() {}

// At returns the id of a message and when it was created.
func At(i Info) (session.MessageID, int64) {
	switch i := i.(type) {
	case *User:
		return i.ID, i.Time.Created
	case *Assistant:
		return i.ID, i.Time.Created
	case *foreignInfo:
		return i.id, i.created
	default:
		return "", 0
	}
}

// Shows reports whether V1 has a word for the message: Render leaves out the others.
func Shows(m session.Message) bool {
	switch m.(type) {
	case *session.User, *session.Assistant, *session.Synthetic, *session.Shell:
		return true
	default:
		return false
	}
}

// Render shows messages of the session, in their order, leaving out what V1 has no word for. Answered says that more
// follows behind them.
func Render(s *session.Session, ms []session.Message, answered bool) []Message {
	out := make([]Message, 0, len(ms))
	asked := session.MessageID("")
	for i, m := range ms {
		switch m := m.(type) {
		case *session.User:
			asked = m.ID
			v := prompted(s, m)
			if answered || answers(ms[i+1:], m.ID) {
				v.Info.(*User).Summary = &UserSummary{Diffs: []FileDiff{}}
			}
			out = append(out, asImported(&m.Head, v))
		case *session.Assistant:
			v := Message{Info: assistant(s, m), Parts: stepParts(s.ID, m)}
			if a := v.Info.(*Assistant); a.ParentID == "" { // of an older record
				a.ParentID = asked
			}
			out = append(out, asImported(&m.Head, v))
		case *session.Synthetic:
			out = append(out, synthetic(s, m))
		case *session.Shell:
			out = append(out, shell(s, m)...)
		}
	}
	return out
}

// answers reports whether one of the messages is an answer to the prompt, or to a later one.
func answers(ms []session.Message, prompt session.MessageID) bool {
	for _, m := range ms {
		if a, ok := m.(*session.Assistant); ok {
			return a.ParentID == "" || a.ParentID == prompt
		}
	}
	return false
}

// Pending shows a prompt that waits to be promoted: V1 shows it at once.
func Pending(s *session.Session, in *session.Input) Message {
	return prompted(s, Waiting(in))
}

// Waiting is the message that a prompt which waits will be.
func Waiting(in *session.Input) *session.User {
	return session.Begin(&session.Prompted{
		Fact: session.Fact{Timestamp: in.TimeCreated, SessionID: in.SessionID}, MessageID: in.ID, Prompt: in.Prompt,
	}, in.AdmittedSeq).(*session.User)
}

func prompted(s *session.Session, m *session.User) Message {
	v := user(s, m.Head, m.Agent, m.Model)
	v.Format, v.System = formatOf(m.Format), m.System
	return Message{Info: v, Parts: promptParts(s.ID, m)}
}

func synthetic(s *session.Session, m *session.Synthetic) Message {
	part := &TextPart{Head: Head{ID: named("", m.ID, 0), SessionID: s.ID, MessageID: m.ID, Type: "text"}, Text: m.Text, Synthetic: true}
	return Message{Info: user(s, m.Head, "", nil), Parts: []Part{part}}
}

func user(s *session.Session, h session.Head, agent string, model *session.ModelRef) *User {
	v := &User{ID: h.ID, SessionID: s.ID, Role: "user", Time: Created{h.Time.Created}, Agent: agent}
	if v.Agent == "" {
		v.Agent = s.Agent
	}
	if model == nil {
		model = s.Model
	}
	if model != nil {
		v.Model = Model{ProviderID: model.ProviderID, ModelID: model.ID, Variant: variant(*model)}
	}
	return v
}

// variant is that of a model in a message, where none is not said.
func variant(m session.ModelRef) string {
	if m.Variant == "default" {
		return ""
	}
	return m.Variant
}

func assistant(s *session.Session, m *session.Assistant) *Assistant {
	v := &Assistant{
		ID: m.ID, SessionID: s.ID, Role: "assistant", Time: m.Time, ParentID: m.ParentID, ModelID: m.Model.ID,
		ProviderID: m.Model.ProviderID, Variant: variant(m.Model), Mode: m.Agent, Agent: m.Agent,
		Path: Path{Cwd: s.Location.Directory, Root: worktree(s)}, Finish: finishOf(m.Finish), Error: errorOf(m),
		Structured: m.Structured,
	}
	if m.Cost != nil {
		v.Cost = *m.Cost
	}
	if m.Tokens != nil {
		v.Tokens = tokensOf(*m.Tokens)
	}
	switch {
	case filtered(m):
		v.Error = &Error{Name: "ContentFilterError", Data: ErrorData{Message: "The provider's content filter blocked the response"}}
	case declined(m):
		v.Finish = "tool-calls"
	case m.Error != nil && m.Error.Reason == session.ReasonOverflow:
		v.Finish = "error"
	case m.Error != nil:
		v.Finish = ""
	}
	return v
}

// filtered reports whether the vendor's filter ended the answer: to V1 that is a failure, although all that it said stays.
func filtered(m *session.Assistant) bool {
	return m.Error == nil && finishOf(m.Finish) == "content-filter"
}

// declined reports whether the step ended because a user declined a call: in V1 that is an end like any other, behind which
// nothing follows.
func declined(m *session.Assistant) bool {
	return m.Error != nil && m.Error.Reason == session.ReasonDenied
}
