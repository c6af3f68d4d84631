package session

import "github.com/go-json-experiment/json/jsontext"

// Prompt is what a user says: text, files and agents called upon. Files are named by URI; a data: URI carries its
// content, any other is left to the tools (spec/v2 AD-3).
type Prompt struct {
	Text   string         `json:"text"`
	Files  []File         `json:"files,omitzero"`
	Agents []AgentMention `json:"agents,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// Empty reports whether the prompt says nothing.
func (p Prompt) Empty() bool { return p.Text == "" && len(p.Files) == 0 && len(p.Agents) == 0 }

// File is an attachment of a prompt or a tool result.
type File struct {
	URI         string         `json:"uri"`
	Mime        string         `json:"mime,omitzero"`
	Name        string         `json:"name,omitzero"`
	Description string         `json:"description,omitzero"`
	Source      *Span          `json:"source,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// AgentMention is an agent named in a prompt's text.
type AgentMention struct {
	Name   string `json:"name"`
	Source *Span  `json:"source,omitzero"`
}

// Span is where in the prompt's text something was mentioned, in UTF-16 units as the clients count.
type Span struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Delivery says when an admitted prompt may be promoted.
type Delivery string

// The deliveries (seed 004).
const (
	Steer Delivery = "steer" // at the next safe boundary
	Queue Delivery = "queue" // when the session would otherwise become idle
)

// Input is an admitted prompt: durable, in the inbox, and invisible to the model until it is promoted.
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
}

// AskPolicy says how asks of the work that a prompt starts are answered when nobody sits at a terminal:
// "" (wait for a reply), "deny", "allow", "fail", or "wait:" and a duration after which it denies.
type AskPolicy string
