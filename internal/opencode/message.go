package opencode

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Message is a message as V1's operations return it: a User or an Assistant, and its parts.
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
	Time      CreationTime      `json:"time"`
	Summary   *UserSummary      `json:"summary,omitzero"` // set once the prompt is being answered
	Agent     string            `json:"agent"`
	Model     Model             `json:"model"`
	Format    *Format           `json:"format,omitzero"`
	System    string            `json:"system,omitzero"` // system text of the prompt
}

// CreationTime is a creation time.
type CreationTime struct {
	Created int64 `json:"created"`
}

// UserSummary lists the files that the answers to a prompt changed.
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
	Summary    bool                `json:"summary,omitzero"` // it is the summary of a compaction
}

// Path is the directory of a step.
type Path struct {
	Cwd  string `json:"cwd"`
	Root string `json:"root"`
}

func (*User) info()      {}
func (*Assistant) info() {}

// IDAndTime returns the id and creation time of a message.
func IDAndTime(i Info) (session.MessageID, int64) {
	switch i := i.(type) {
	case *User:
		return i.ID, i.Time.Created
	case *Assistant:
		return i.ID, i.Time.Created
	case *importedInfo:
		return i.id, i.created
	default:
		return "", 0
	}
}

// fillSelection sets the agent and the model that the prompt leaves open, as those of V2 and of subagents do, to those
// of its answer: the session's present ones may be others. A nil answer, or one by subagents, changes nothing.
func (u *User) fillSelection(prompt *session.User, answer *session.Assistant) {
	if answer == nil || answer.Subtasks {
		return
	}
	if prompt.Agent == "" {
		u.Agent = answer.Agent
	}
	if prompt.Model == nil {
		m := answer.Model
		u.Model = Model{ProviderID: m.ProviderID, ModelID: m.ID, Variant: variantOf(m)}
	}
}

// InputMessage returns the message that a prompt becomes when it is promoted.
func InputMessage(in *session.Input) *session.User {
	return session.Begin(&session.Prompted{
		Fact: session.Fact{Timestamp: in.TimeCreated, SessionID: in.SessionID}, MessageID: in.ID, Prompt: in.Prompt,
	}, in.AdmittedSeq).(*session.User)
}

func userMessage(s *session.Session, m *session.User) Message {
	v := userInfo(s, m.Head, m.Agent, m.Model)
	v.Format, v.System = formatOf(m.Format), m.System
	return Message{Info: v, Parts: promptParts(s.ID, m)}
}

func syntheticMessage(s *session.Session, m *session.Synthetic) Message {
	part := &TextPart{
		Head:      Head{ID: partIDOr("", m.ID, 0), SessionID: s.ID, MessageID: m.ID, Type: "text"},
		Text:      m.Text,
		Synthetic: true,
	}
	if continuesWork(m) {
		part.Metadata, part.Time = m.Metadata, &Time{Start: m.Time.Created, End: m.Time.Created}
	}
	return Message{Info: userInfo(s, m.Head, "", nil), Parts: []Part{part}}
}

func userInfo(s *session.Session, h session.Head, agent string, model *session.ModelRef) *User {
	v := &User{ID: h.ID, SessionID: s.ID, Role: "user", Time: CreationTime{h.Time.Created}, Agent: agent}
	if v.Agent == "" {
		v.Agent = s.Agent
	}
	if model == nil {
		model = s.Model
	}
	if model != nil {
		v.Model = Model{ProviderID: model.ProviderID, ModelID: model.ID, Variant: variantOf(*model)}
	}
	return v
}

// variantOf returns the variant that V1 shows for a message's model; "" if none is shown.
func variantOf(m session.ModelRef) string {
	if m.Variant == "default" {
		return ""
	}
	return m.Variant
}

func assistantInfo(s *session.Session, m *session.Assistant) *Assistant {
	v := &Assistant{
		ID: m.ID, SessionID: s.ID, Role: "assistant", Time: m.Time, ParentID: m.ParentID, ModelID: m.Model.ID,
		ProviderID: m.Model.ProviderID, Variant: variantOf(m.Model), Mode: m.Agent, Agent: m.Agent,
		Path: Path{Cwd: s.Location.Directory, Root: worktreeOf(s)}, Finish: finishOf(m.Finish), Error: errorOf(m),
		Structured: m.Structured,
	}
	if m.Cost != nil {
		v.Cost = *m.Cost
	}
	if m.Tokens != nil {
		v.Tokens = tokensOf(*m.Tokens)
	}
	switch {
	case isFiltered(m):
		v.Error = &Error{
			Name: "ContentFilterError",
			Data: ErrorData{Message: "The provider's content filter blocked the response"},
		}
	case isDeclined(m):
		v.Finish = "tool-calls"
	case m.Error != nil && m.Error.Reason == session.ReasonOverflow:
		v.Finish = "error"
	case m.Error != nil:
		v.Finish = ""
	}
	return v
}

// isFiltered reports whether the provider's content filter ended the response. V1 treats that as a failure and keeps
// the text.
func isFiltered(m *session.Assistant) bool {
	return m.Error == nil && finishOf(m.Finish) == "content-filter"
}

// isDeclined reports whether the step ended because the user declined a call. V1 treats that as a normal end.
func isDeclined(m *session.Assistant) bool {
	return m.Error != nil && m.Error.Reason == session.ReasonDenied
}

// SyntheticPrompt returns the message as the prompt that turns answer.
func SyntheticPrompt(m *session.Synthetic) *session.User { return &session.User{Head: m.Head} }

// continuesWork reports whether the message tells the model to go on after a compaction.
func continuesWork(m *session.Synthetic) bool {
	return membersOfObject(m.Metadata)["compaction_continue"] != nil
}
