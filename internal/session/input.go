package session

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Prompt is a user's message to the model: text, files, mentioned agents and subtasks. Files are named by URI. A data:
// URI carries the content; other URIs are left to the tools (AD-3).
type Prompt struct {
	Text   string         `json:"text"`
	Files  []File         `json:"files,omitzero"`
	Agents []AgentMention `json:"agents,omitzero"`

	Subtasks []Subtask `json:"subtasks,omitempty"`

	// Agent and Model, if set, become the session's at promotion.
	Agent  string       `json:"agent,omitzero"`
	Model  *ModelRef    `json:"model,omitzero"`
	Format *Format      `json:"format,omitzero"` // of the answer; nil is text
	System string       `json:"system,omitzero"` // appended to the system texts of the turns that answer the prompt
	Parts  []PromptPart `json:"parts,omitempty"` // the caller's division of the prompt; the model does not see it

	Extra jsontext.Value `json:",embed"`
}

// Subtask is a task that the user of a prompt hands to a subagent: the engine makes the call of the tool task, in a
// turn for which no model is asked.
type Subtask struct {
	Agent       string    `json:"agent"` // "" at admission is the agent of the prompt
	Prompt      string    `json:"prompt"`
	Description string    `json:"description"`
	Model       *ModelRef `json:"model,omitzero"`   // of the work, unless the agent has its own; nil is the session's
	Command     string    `json:"command,omitzero"` // that led to the task; the model then reports on the result
	Files       []File    `json:"files,omitempty"`  // of the child session's prompt
}

// maxSubtasks bounds the subtasks of a prompt.
const maxSubtasks = 32

// CheckSubtasks returns a CodeInvalid error, with its place below field, if a subtask is incomplete or if there are too
// many.
func (p Prompt) CheckSubtasks(field string) error {
	if n := len(p.Subtasks); n > maxSubtasks {
		return Errorf(CodeInvalid, "a prompt has at most %d subtasks, got %d", maxSubtasks, n).
			At(field + ".subtasks")
	}
	for i, t := range p.Subtasks {
		at := fmt.Sprintf("%s.subtasks[%d]", field, i)
		if strings.TrimSpace(t.Prompt) == "" {
			return Errorf(CodeInvalid, "the prompt of the subtask is empty").At(at + ".prompt")
		}
	}
	return nil
}

// JoinSubtasks returns the prompts of the subtasks, one below the other.
func JoinSubtasks(subtasks []Subtask) string {
	var prompts []string
	for _, t := range subtasks {
		prompts = append(prompts, t.Prompt)
	}
	return strings.Join(prompts, "\n")
}

// PromptPart is a part of a prompt as its caller divided it. It refers to content of the prompt: a file, agent or
// subtask is the one at Index of the prompt's list; a text is Length bytes of Prompt.Text from byte Index on.
type PromptPart struct {
	ID     PartID         `json:"id"`
	Type   PartType       `json:"type"`
	Index  int            `json:"index,omitzero"`
	Length int            `json:"length,omitzero"`
	Extra  jsontext.Value `json:",embed"` // other fields of the caller
}

// PartType is the kind of a PromptPart.
type PartType string

// The kinds of prompt parts.
const (
	PartText  PartType = "text"
	PartFile  PartType = "file"
	PartAgent PartType = "agent"

	PartSubtask PartType = "subtask"
)

// CheckParts returns a CodeInvalid error, with its place below field, if a part's id is invalid or repeated or if
// it refers to content that the prompt does not have.
func (p Prompt) CheckParts(field string) error {
	seen := map[PartID]bool{}
	for i, part := range p.Parts {
		at := fmt.Sprintf("%s.parts[%d]", field, i)
		if err := CheckID(at+".id", PrefixPart, string(part.ID)); err != nil {
			return err
		}
		length := map[PartType]int{
			PartText: len(p.Text), PartFile: len(p.Files), PartAgent: len(p.Agents), PartSubtask: len(p.Subtasks),
		}[part.Type]
		need := max(1, part.Length)
		if part.Type == PartText {
			need = part.Length
		}
		switch {
		case seen[part.ID]:
			return Errorf(CodeInvalid, "two parts have the id %q", ClipText(string(part.ID), 40)).At(at + ".id")
		case part.Index < 0 || part.Length < 0 || part.Index > length-need:
			return Errorf(CodeInvalid, "the prompt has no such %q part", ClipText(string(part.Type), 40)).At(at)
		}
		seen[part.ID] = true
	}
	return nil
}

// Empty reports whether the prompt has no content.
func (p Prompt) Empty() bool {
	return p.Text == "" && len(p.Files) == 0 && len(p.Agents) == 0 && len(p.Subtasks) == 0
}

// File is an attachment of a prompt or a tool result.
type File struct {
	URI         string         `json:"uri"`
	Mime        string         `json:"mime,omitzero"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Source      *Span          `json:"source,omitzero"`
	Text        string         `json:"text,omitzero"` // content read at admission; "" if not read, or in a data: URI
	Extra       jsontext.Value `json:",embed"`
}

// AgentMention is an agent named in a prompt's text.
type AgentMention struct {
	Name   string `json:"name"`
	Source *Span  `json:"source,omitzero"`
	Denied bool   `json:"denied,omitzero"` // by the rules, which a mention overrides; set when the prompt is admitted
}

// MentionText returns what the model reads of a mentioned agent. It is OpenCode's, which puts a space before it because
// some protocols join texts without one.
func MentionText(a AgentMention) string {
	text := " Use the above message and context to generate a prompt and call the task tool with subagent: " + a.Name
	if a.Denied {
		text += " . Invoked by user; guaranteed to exist."
	}
	return text
}

// Span is the range of a mention in the prompt's text, in UTF-16 code units.
type Span struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Delivery is the time at which an admitted prompt may be promoted.
type Delivery string

// The deliveries.
const (
	Steer Delivery = "steer" // at the next safe boundary
	Queue Delivery = "queue" // when the session would otherwise become idle
)

// Input is an admitted prompt, or a request for a compaction: durable, in the inbox, and invisible to the model until
// it is promoted.
type Input struct {
	AdmittedSeq int64     `json:"admittedSeq"`
	ID          MessageID `json:"id"`
	SessionID   ID        `json:"sessionID"`
	Prompt      Prompt    `json:"prompt"`
	Delivery    Delivery  `json:"delivery"`
	TimeCreated int64     `json:"timeCreated"`
	PromotedSeq *int64    `json:"promotedSeq,omitzero"`

	Order int64     `json:"order,omitzero"` // rank among the pending; the admitted seq until it is reordered
	Asks  AskPolicy `json:"asks,omitzero"`
	Hold  bool      `json:"hold,omitzero"`
	// NoReply, with Hold: the prompt is for the history, which it joins at once in an idle session, else at the next
	// boundary or when the work ends.
	NoReply bool `json:"noReply,omitzero"`

	Recovery Recovery `json:"recovery,omitzero"`

	// Restricted: a caller that may not approve asked for the work. It asks before it does what only the session's
	// openness, rules and approvals allow, and so does all later work until the session is idle.
	Restricted bool `json:"restricted,omitzero"`

	Extensions []string `json:"extensions,omitempty"` // that changed the prompt, in their order

	Compaction *CompactionRequest `json:"compaction,omitzero"` // nil for a prompt; otherwise Prompt is empty
}

// Text returns what the input says: the prompt's text, or the command that requests the compaction.
func (in *Input) Text() string {
	if in.Compaction == nil {
		return in.Prompt.Text
	}
	return strings.TrimSpace("/compact " + in.Compaction.Instructions)
}

// CompactionRequest holds the parameters of a compaction.
type CompactionRequest struct {
	Instructions string    `json:"instructions,omitzero"` // for the summary, in the user's words
	Model        *ModelRef `json:"model,omitzero"`        // that writes the summary; nil selects the configured one
	Proceed      bool      `json:"proceed,omitzero"`      // the model goes on after the summary, also if no work was left
}
