package session

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Message is one entry of a session's visible history: User, Synthetic, System, Shell, AgentSwitch, ModelSwitch,
// Assistant or Compaction, always by pointer. Its order is Meta().Seq.
type Message interface {
	Meta() *Head
}

// Head is what all messages have.
type Head struct {
	ID       MessageID      `json:"id"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
	Time     MessageTime    `json:"time"`
	Type     MessageType    `json:"type"`
	Extra    jsontext.Value `json:",embed"`

	Seq int64 `json:"-"` // of the event that appended it
}

// Meta returns h itself, so that every message has it.
func (h *Head) Meta() *Head { return h }

// MessageTime is when a message was created and, where it takes time, completed.
type MessageTime struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed,omitzero"`
}

// MessageType is the tag of a Message.
type MessageType string

// The message types (spec/v2 §7).
const (
	TypeUser        MessageType = "user"
	TypeSynthetic   MessageType = "synthetic"
	TypeSystem      MessageType = "system"
	TypeShell       MessageType = "shell"
	TypeAgentSwitch MessageType = "agent-switched"
	TypeModelSwitch MessageType = "model-switched"
	TypeAssistant   MessageType = "assistant"
	TypeCompaction  MessageType = "compaction"
)

// User is a promoted prompt.
type User struct {
	Head
	Text   string         `json:"text"`
	Files  []File         `json:"files,omitzero"`
	Agents []AgentMention `json:"agents,omitzero"`

	Agent string       `json:"agent,omitzero"` // that the prompt named
	Model *ModelRef    `json:"model,omitzero"`
	Parts []PromptPart `json:"parts,omitempty"`

	Format *Format `json:"format,omitzero"` // that the answer must have
	System string  `json:"system,omitzero"` // what the model is told behind its system texts while it answers
}

// Synthetic is user text that the system wrote.
type Synthetic struct {
	Head
	SessionID ID     `json:"sessionID"`
	Text      string `json:"text"`
}

// System is a mid-conversation system message: the exact text that tells the model what changed around it.
type System struct {
	Head
	Text string `json:"text"`
}

// Shell is a command that the user ran beside the conversation.
type Shell struct {
	Head
	CallID  string `json:"callID"`
	Command string `json:"command"`
	Output  string `json:"output"`
	ShellAs
}

// ShellAs is as what V1 shows a command of the user: a prompt, and an answer that calls bash. CallID is the answer's id.
type ShellAs struct {
	AnswerID MessageID `json:"answerID,omitzero"`
	NoteID   PartID    `json:"noteID,omitzero"` // of the text of the prompt
	PartID   PartID    `json:"partID,omitzero"` // of the call
	Agent    string    `json:"agent,omitzero"`
	Model    *ModelRef `json:"model,omitzero"`
}

// AgentSwitch records that another agent was selected.
type AgentSwitch struct {
	Head
	Agent string `json:"agent"`
}

// ModelSwitch records that another model was selected.
type ModelSwitch struct {
	Head
	Model ModelRef `json:"model"`
}

// Compaction replaces the model-visible past by a summary.
type Compaction struct {
	Head
	Reason  string `json:"reason"` // "auto" or "manual"
	Summary string `json:"summary"`
	Recent  string `json:"recent"`
}

// Assistant is one provider turn: what the model said and what came of its tool calls.
type Assistant struct {
	Head
	Agent    string        `json:"agent"`
	Model    ModelRef      `json:"model"`
	Content  []Content     `json:"content"`
	Snapshot *StepSnapshot `json:"snapshot,omitzero"`
	Finish   string        `json:"finish,omitzero"`
	Cost     *USD          `json:"cost,omitzero"`
	Tokens   *Tokens       `json:"tokens,omitzero"`
	Error    *Failure      `json:"error,omitzero"`

	Structured jsontext.Value `json:"structured,omitzero"` // the value that the prompt's format asked for

	ParentID MessageID `json:"parentID,omitzero"` // the newest prompt that it answers
	StartID  PartID    `json:"startID,omitzero"`  // of its beginning, which sorts before its items
	EndID    PartID    `json:"endID,omitzero"`    // of its end, which sorts behind them

	Prefix *CachePrefix `json:"prefix,omitzero"` // of the request that it answers
}

// StepSnapshot names the working tree before and after a turn.
type StepSnapshot struct {
	Start string   `json:"start,omitzero"`
	End   string   `json:"end,omitzero"`
	Files []string `json:"files,omitzero"`
}

// Failure says why a turn or a tool call failed. Type is always "unknown" because V2 clients know no other; Reason is
// ours and says more.
type Failure struct {
	Type     string         `json:"type"`
	Message  string         `json:"message"`
	Reason   Reason         `json:"reason,omitzero"`
	Provider *Said          `json:"said,omitzero"` // by the provider, when it is its failure
	Extra    jsontext.Value `json:",embed"`
}

// Said is what a provider answered instead of doing what it was asked.
type Said struct {
	Message     string `json:"message"`
	Status      int    `json:"status,omitzero"` // of HTTP; 0: it never answered
	Body        string `json:"body,omitzero"`   // without secrets
	IsTransient bool   `json:"passes,omitzero"` // asking again may help
}

// Reason sorts failures (spec/v2 §29.2).
type Reason string

// The reasons.
const (
	ReasonAborted       Reason = "aborted"     // interrupted by the user
	ReasonInterrupted   Reason = "interrupted" // the process died or was stopped: what a tool did is unknown
	ReasonAuth          Reason = "auth"
	ReasonQuota         Reason = "quota"
	ReasonAPI           Reason = "api"
	ReasonOverflow      Reason = "overflow"
	ReasonContentFilter Reason = "content-filter"
	ReasonLength        Reason = "length" // the answer is longer than what is kept of one
	ReasonDenied        Reason = "denied"
	ReasonBudget        Reason = "budget"
	ReasonTool          Reason = "tool" // the tool says so
	ReasonInvalidInput  Reason = "invalid-input"
	ReasonUnknownTool   Reason = "unknown-tool"
	ReasonDoomLoop      Reason = "doom-loop"
	ReasonSteps         Reason = "steps"       // the agent's allowance of turns is used up; no turn follows
	ReasonGivenUp       Reason = "given-up"    // the work took the process down too often
	ReasonModel         Reason = "model"       // the model cannot be used: unknown, no key
	ReasonUnavailable   Reason = "unavailable" // the location cannot work: broken configuration, missing directory
	ReasonStore         Reason = "store"       // the data cannot be read or written
	ReasonFormat        Reason = "format"      // the model did not give its answer in the form that was asked for
	ReasonInternal      Reason = "internal"    // a fault of ours, which is logged
)

// Fail makes a Failure.
func Fail(reason Reason, message string) *Failure {
	return &Failure{Type: "unknown", Reason: reason, Message: message}
}

// DecodeMessage reads a message of any type.
func DecodeMessage(data []byte) (Message, error) {
	var tag struct {
		Type MessageType `json:"type"`
	}
	if err := json.Unmarshal(data, &tag); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	return DecodeMessageOf(tag.Type, data)
}

// DecodeMessageOf reads a message of which the type is known: it is looked at once only.
func DecodeMessageOf(t MessageType, data []byte) (Message, error) {
	m, err := newMessage(t)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode %s message: %w", t, err)
	}
	if said := m.Meta().Type; said != t {
		return nil, fmt.Errorf("decode %s message: it says that it is of type %q", t, said)
	}
	return m, nil
}

func newMessage(t MessageType) (Message, error) {
	switch t {
	case TypeUser:
		return &User{}, nil
	case TypeSynthetic:
		return &Synthetic{}, nil
	case TypeSystem:
		return &System{}, nil
	case TypeShell:
		return &Shell{}, nil
	case TypeAgentSwitch:
		return &AgentSwitch{}, nil
	case TypeModelSwitch:
		return &ModelSwitch{}, nil
	case TypeAssistant:
		return &Assistant{}, nil
	case TypeCompaction:
		return &Compaction{}, nil
	default:
		return nil, fmt.Errorf("there is no message type %q", t)
	}
}
