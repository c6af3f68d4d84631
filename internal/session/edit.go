package session

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Edits change existing messages. Clients and models see the session after the edits; the log keeps the original
// events. Only ended turns and promoted prompts can be edited.
type (
	// MessageRemoved removes a message from the history. For a shell command, AnswerID is the second id that V1 shows
	// it under. ByImport is set if the source of an imported session has other messages by now, which follow.
	MessageRemoved struct {
		Fact
		MessageID MessageID `json:"messageID"`
		AnswerID  MessageID `json:"answerID,omitzero"`
		ByImport  bool      `json:"byImport,omitzero"`
	}
	// MessageEdited replaces the content of a promoted prompt. PartID is the part that is changed or removed.
	MessageEdited struct {
		Fact
		MessageID MessageID `json:"messageID"`
		PartID    PartID    `json:"partID,omitzero"`
		Prompt    Prompt    `json:"prompt"`
	}
	// PartRemoved removes an item from a turn, or its end; a call is removed with its result.
	PartRemoved struct {
		TurnFact
		PartID PartID `json:"partID"`
	}
	// PartEdited replaces the text of an item and drops the provider's metadata, which signs the old text.
	PartEdited struct {
		TurnFact
		PartID PartID `json:"partID"`
		Text   string `json:"text"`
	}
)

// Apply applies the event to the prompt. It reports whether anything changed.
func (u *User) Apply(d EventData) bool {
	switch e := d.(type) {
	case *MessageEdited:
		if e.MessageID != u.ID {
			return false
		}
		u.Text, u.Files, u.Agents, u.Parts = e.Prompt.Text, e.Prompt.Files, e.Prompt.Agents, e.Prompt.Parts
		u.Subtasks = e.Prompt.Subtasks
	case *DiffUpdated:
		if e.MessageID != u.ID {
			return false
		}
		u.Diffs = e.Diffs
	default:
		return false
	}
	return true
}

// applyEdit applies an edit to a turn that has ended.
func (a *Assistant) applyEdit(d EventData) bool {
	if a.Open() {
		return false
	}
	switch e := d.(type) {
	case *PartRemoved:
		if e.PartID != "" && e.PartID == a.EndID {
			changed := !a.EndRemoved
			a.EndRemoved = true
			return changed
		}
		before := len(a.Content)
		a.Content = slices.DeleteFunc(a.Content, func(c Content) bool { return c.ItemID() == e.PartID })
		return len(a.Content) < before
	case *PartEdited:
		switch it := a.Item(e.PartID).(type) {
		case *Text:
			return replaceText(&it.Text, &it.Metadata, e.Text)
		case *Reasoning:
			return replaceText(&it.Text, &it.Metadata, e.Text)
		}
	}
	return false
}

// replaceText replaces a text and drops the provider's metadata about the old one.
func replaceText(text *string, metadata *jsontext.Value, to string) bool {
	if *text == to {
		return false
	}
	*text, *metadata = to, nil
	return true
}
