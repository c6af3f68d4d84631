package session

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Prompt is what a user says: text, files and agents called upon. Files are named by URI; a data: URI carries its
// content, any other is left to the tools (spec/v2 AD-3).
type Prompt struct {
	Text   string         `json:"text"`
	Files  []File         `json:"files,omitzero"`
	Agents []AgentMention `json:"agents,omitzero"`

	// Agent and Model, where a prompt brings them, are the session's from its admission on.
	Agent  string       `json:"agent,omitzero"`
	Model  *ModelRef    `json:"model,omitzero"`
	Format *Format      `json:"format,omitzero"` // that the answer must have; nil is text
	System string       `json:"system,omitzero"` // what the model is told behind its system texts while it answers this prompt
	Parts  []PromptPart `json:"parts,omitempty"` // how the caller had cut what the prompt says; the model is not told

	Extra jsontext.Value `json:",embed"`
}

// PromptPart is one piece of a prompt as its caller named it. It repeats nothing: a file or an agent is the one at Index in
// the prompt's list, and a text is what Prompt.Text holds from byte Index on, Length bytes of it.
type PromptPart struct {
	ID     PartID         `json:"id"`
	Type   PartType       `json:"type"`
	Index  int            `json:"index,omitzero"`
	Length int            `json:"length,omitzero"`
	Extra  jsontext.Value `json:",embed"` // what else the caller said of it
}

// PartType is the kind of a PromptPart.
type PartType string

// The kinds of the pieces of a prompt.
const (
	PartText  PartType = "text"
	PartFile  PartType = "file"
	PartAgent PartType = "agent"
)

// CheckParts returns a CodeInvalid error that names, in field, a part that has no id of its own or is none of the prompt.
func (p Prompt) CheckParts(field string) error {
	seen := map[PartID]bool{}
	for i, part := range p.Parts {
		at := fmt.Sprintf("%s.parts[%d]", field, i)
		if err := CheckID(at+".id", PrefixPart, string(part.ID)); err != nil {
			return err
		}
		length := map[PartType]int{PartText: len(p.Text), PartFile: len(p.Files), PartAgent: len(p.Agents)}[part.Type]
		need := max(1, part.Length)
		if part.Type == PartText {
			need = part.Length
		}
		switch {
		case seen[part.ID]:
			return Errorf(CodeInvalid, "two parts have the id %q", clip(string(part.ID), 40)).At(at + ".id")
		case part.Index < 0 || part.Length < 0 || part.Index > length-need:
			return Errorf(CodeInvalid, "the prompt has no such %q part", clip(string(part.Type), 40)).At(at)
		}
		seen[part.ID] = true
	}
	return nil
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
	Text        string         `json:"text,omitzero"` // what reading it said as the prompt was sent; "": it is only named, or brings what it holds
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
