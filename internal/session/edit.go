package session

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Edits: what people change of what was said. Clients and models see the session as it is after them; the log keeps what
// there was. Only what has ended is edited.
type (
	// MessageRemoved takes a message out of the history. AnswerID is as what V1 shows it, too, if it is a command.
	MessageRemoved struct {
		Fact
		MessageID MessageID `json:"messageID"`
		AnswerID  MessageID `json:"answerID,omitzero"`
	}
	// MessageEdited replaces what a promoted prompt says. PartID is the piece that is changed, or that is gone.
	MessageEdited struct {
		Fact
		MessageID MessageID `json:"messageID"`
		PartID    PartID    `json:"partID,omitzero"`
		Prompt    Prompt    `json:"prompt"`
	}
	// PartRemoved takes an item out of a turn; a call goes with what came of it.
	PartRemoved struct {
		TurnFact
		PartID PartID `json:"partID"`
	}
	// PartEdited replaces the text of an item. What its provider signed was another text, and is dropped.
	PartEdited struct {
		TurnFact
		PartID PartID `json:"partID"`
		Text   string `json:"text"`
	}
)

// Apply changes the prompt as the event says. It reports whether anything changed.
func (u *User) Apply(d EventData) bool {
	e, ok := d.(*MessageEdited)
	if !ok || e.MessageID != u.ID {
		return false
	}
	u.Text, u.Files, u.Agents, u.Parts = e.Prompt.Text, e.Prompt.Files, e.Prompt.Agents, e.Prompt.Parts
	return true
}

// applyEdit changes a turn that has ended.
func (a *Assistant) applyEdit(d EventData) bool {
	if a.Open() {
		return false
	}
	switch e := d.(type) {
	case *PartRemoved:
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

// replaceText replaces a text, and drops what its provider said of the one before.
func replaceText(text *string, metadata *jsontext.Value, to string) bool {
	if *text == to {
		return false
	}
	*text, *metadata = to, nil
	return true
}
