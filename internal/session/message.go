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

// Head holds the fields of all messages.
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

// MessageTime holds when a message was created and, for messages that take time, completed.
type MessageTime struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed,omitzero"`
}

// MessageType is the tag of a Message.
type MessageType string

// The message types.
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

	Subtasks []Subtask `json:"subtasks,omitempty"`

	Agent string       `json:"agent,omitzero"` // named by the prompt
	Model *ModelRef    `json:"model,omitzero"`
	Parts []PromptPart `json:"parts,omitempty"`

	Format  *Format `json:"format,omitzero"`  // of the answer
	NoReply bool    `json:"noReply,omitzero"` // no turn answers it by itself

	System string `json:"system,omitzero"` // appended to the system texts of the turns that answer it

	Diffs []ChangedFile `json:"diffs,omitempty"` // what the answers to the prompt changed in files

	Extensions []string `json:"extensions,omitempty"` // that changed it before it was admitted, in their order
}

// Synthetic is a user message that the system wrote.
type Synthetic struct {
	Head
	SessionID ID     `json:"sessionID"`
	Text      string `json:"text"`
}

// System is a mid-conversation system message: a change of the system context.
type System struct {
	Head
	Text string `json:"text"`
}

// Shell is a shell command that the user ran beside the conversation.
type Shell struct {
	Head
	CallID  string `json:"callID"`
	Command string `json:"command"`
	Output  string `json:"output"`
	ShellEnd
	ShellAs
}

// ShellEnd is the result of a user's shell command. Commands that ended before it was recorded have none.
type ShellEnd struct {
	Exit    *int `json:"exit,omitzero"`    // 128 plus the number of the signal that ended it; nil if Stopped
	Stopped bool `json:"stopped,omitzero"` // it did not start, or was ended before it did so itself
}

// ShellAs holds the ids of the V1 form of a shell command: a prompt, and an answer that calls bash. CallID is the
// id of the answer.
type ShellAs struct {
	AnswerID MessageID `json:"answerID,omitzero"`
	NoteID   PartID    `json:"noteID,omitzero"` // of the prompt's text
	PartID   PartID    `json:"partID,omitzero"` // of the call
	Agent    string    `json:"agent,omitzero"`
	Model    *ModelRef `json:"model,omitzero"`
}

// AgentSwitch is the selection of another agent.
type AgentSwitch struct {
	Head
	Agent string `json:"agent"`
}

// ModelSwitch is the selection of another model.
type ModelSwitch struct {
	Head
	Model ModelRef `json:"model"`
}

// The reasons of a compaction.
const (
	CompactionAuto   = "auto"   // the next request would not fit, or did not
	CompactionManual = "manual" // it was requested
)

// RequestCost is the cost of a model request without a message: for a title, which the stored spend includes and the
// session's totals do not, or a failed attempt, which both include.
type RequestCost struct {
	Model  ModelRef `json:"model"`
	Cost   USD      `json:"cost"`
	Tokens Tokens   `json:"tokens"`
}

// SummaryAs holds what V1 shows of a compaction: a prompt that asks for a summary, and an answer, the summary. The id
// of the compaction is that of the answer.
type SummaryAs struct {
	RequestID MessageID `json:"requestID,omitzero"` // of the prompt; also of the inbox entry, if there was one
	AskID     PartID    `json:"askID,omitzero"`     // of the prompt's only part
	StartID   PartID    `json:"startID,omitzero"`   // of the answer's beginning
	TextID    PartID    `json:"textID,omitzero"`    // of its text
	EndID     PartID    `json:"endID,omitzero"`     // of its end
	Agent     string    `json:"agent,omitzero"`     // of the conversation
	Model     *ModelRef `json:"model,omitzero"`     // that the request names, else that of the conversation
	Writer    *ModelRef `json:"writer,omitzero"`    // the model that writes the summary
	Overflow  bool      `json:"overflow,omitzero"`  // the provider rejected the request as too large
	Proceed   bool      `json:"proceed,omitzero"`   // of CompactionRequest
	Started   int64     `json:"started,omitzero"`   // milliseconds
}

// Kept is the part of the past that stays visible beside the summary.
type Kept struct {
	Seq       int64     `json:"seq,omitzero"`       // messages from this one on, 0 without them
	MessageID MessageID `json:"messageID,omitzero"` // the first of them
	PromptID  MessageID `json:"promptID,omitzero"`  // the prompt that the work is on, if it is older than these
	Turns     int64     `json:"turns,omitzero"`     // number of hidden turns since that prompt
}

// Record holds facts of the hidden past that no summary can lose.
type Record struct {
	Requests []string     `json:"requests,omitempty"` // texts of prompts, oldest first; long ones are cut
	Omitted  int          `json:"omitted,omitzero"`   // prompts after the first one that Requests leaves out
	Files    []FileRecord `json:"files,omitempty"`    // changed by the session's tools, in the order of the last change
	Todos    []Todo       `json:"todos,omitempty"`
	Asks     []string     `json:"asks,omitempty"` // that wait for an answer, in words
}

// FileRecord is a file as the session's tools left it.
type FileRecord struct {
	Path string `json:"path"`
	Hash string `json:"hash,omitzero"` // of the content, as the tools record it; "" if the file was deleted
}

// Compaction replaces the model-visible past by a summary.
type Compaction struct {
	Head
	Reason  string `json:"reason"` // CompactionAuto or CompactionManual
	Summary string `json:"summary"`
	Recent  string `json:"recent"` // older clients keep recent messages here as text; "" if Kept names them

	Record  *Record      `json:"record,omitzero"` // facts of the session that cairn adds to the summary
	Kept    Kept         `json:"kept,omitzero"`
	Before  int64        `json:"before,omitzero"` // tokens of the next request without the compaction, estimated
	After   int64        `json:"after,omitzero"`  // and with it
	Request *RequestCost `json:"asked,omitzero"`  // the cost of the summary
	SummaryAs
}

// Assistant is one provider turn: the model's output and its tool calls with their results.
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

	Structured jsontext.Value `json:"structured,omitzero"` // the structured output that the prompt's format requires

	ParentID MessageID `json:"parentID,omitzero"` // the newest prompt that the turn answers
	StartID  PartID    `json:"startID,omitzero"`  // item id of the beginning; sorts before the items
	EndID    PartID    `json:"endID,omitzero"`    // item id of the end; sorts after the items
	// EndRemoved: a revert to one of the items took the end of the turn with it. V1 shows neither the end nor its patch.
	EndRemoved bool `json:"endRemoved,omitzero"`

	Prefix  *CachePrefix `json:"prefix,omitzero"`  // fingerprint of the request
	Altered *Alteration  `json:"altered,omitzero"` // of the request, by extensions

	Subtasks bool `json:"subtasks,omitzero"` // the calls are subtasks of a prompt; no model was asked
}

// StepSnapshot names the working tree before and after a turn.
type StepSnapshot struct {
	Start string   `json:"start,omitzero"`
	End   string   `json:"end,omitzero"`
	Files []string `json:"files,omitzero"`
}

// Failure is the reason why a turn or a tool call failed. Type is always "unknown", the only type of V2; Reason is
// cairn's own field and more exact.
type Failure struct {
	Type     string         `json:"type"`
	Message  string         `json:"message"`
	Reason   Reason         `json:"reason,omitzero"`
	Provider *Said          `json:"said,omitzero"` // the provider's response, if the provider failed
	Extra    jsontext.Value `json:",embed"`
}

// Said is the error response of a provider.
type Said struct {
	Message     string `json:"message"`
	Status      int    `json:"status,omitzero"` // HTTP status; 0 without a response
	Body        string `json:"body,omitzero"`   // without secrets
	IsTransient bool   `json:"passes,omitzero"` // a retry may help
}

// Reason classifies failures.
type Reason string

// The failure reasons.
const (
	ReasonAborted       Reason = "aborted"     // interrupted by the user
	ReasonInterrupted   Reason = "interrupted" // the process died or was stopped; the effects of tools are unknown
	ReasonAuth          Reason = "auth"
	ReasonQuota         Reason = "quota"
	ReasonAPI           Reason = "api"
	ReasonOverflow      Reason = "overflow"
	ReasonContentFilter Reason = "content-filter"
	ReasonLength        Reason = "length" // the answer exceeds the limit of stored output
	ReasonDenied        Reason = "denied"
	ReasonBudget        Reason = "budget"
	ReasonTool          Reason = "tool" // the tool reported an error
	ReasonInvalidInput  Reason = "invalid-input"
	ReasonUnknownTool   Reason = "unknown-tool"
	ReasonDoomLoop      Reason = "doom-loop"
	ReasonSteps         Reason = "steps"       // the agent's steps are used up; no turn follows
	ReasonGivenUp       Reason = "given-up"    // the work was cut off by the end of the process too often
	ReasonModel         Reason = "model"       // the model is unknown or has no API key
	ReasonUnavailable   Reason = "unavailable" // the location is unusable: invalid configuration, missing directory
	ReasonContext       Reason = "context"     // the system context cannot be read; the prompt stays pending
	ReasonCompacted     Reason = "compacted"   // the history was replaced by a summary, and the work waits for the user
	ReasonSummary       Reason = "summary"     // the summary of a compaction is unusable
	ReasonStore         Reason = "store"       // the data cannot be read or written
	ReasonFormat        Reason = "format"      // the model did not produce the required structured output
	ReasonInternal      Reason = "internal"    // a bug of cairn, which is logged
)

// DeletedMessage is the message of work that ended because a user deletes its session.
const DeletedMessage = "the session is being deleted"

// Fail returns a Failure.
func Fail(reason Reason, message string) *Failure {
	return &Failure{Type: "unknown", Reason: reason, Message: message}
}

// DecodeMessage decodes a message of any type.
func DecodeMessage(data []byte) (Message, error) {
	var tag struct {
		Type MessageType `json:"type"`
	}
	if err := json.Unmarshal(data, &tag); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	return DecodeMessageOf(tag.Type, data)
}

// DecodeMessageOf decodes a message of a known type in one pass.
func DecodeMessageOf(t MessageType, data []byte) (Message, error) {
	m, err := newMessage(t)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode %s message: %w", t, err)
	}
	if said := m.Meta().Type; said != t {
		return nil, fmt.Errorf("decode %s message: its type is %q", t, said)
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
		return nil, fmt.Errorf("unknown message type %q", t)
	}
}
