package session

import (
	"slices"
	"unicode/utf8"
)

// Checkpoint makes open items hold what the checkpoints say, in the order of the log: each keeps what its item holds
// before the offset, and puts its text behind that. One that leaves a gap, cuts a character or comes after the end of
// its item or turn is ignored; the end brings the whole value. It reports whether one was not. All at once they cost
// what their text is long, and mean what they mean one by one.
func (a *Assistant) Checkpoint(cs ...*ItemCheckpointed) bool {
	if !a.Open() {
		return false
	}
	held := map[PartID][]byte{}
	for _, c := range cs {
		text, known := held[c.PartID]
		if !known {
			item := a.Item(c.PartID)
			if c.AssistantMessageID != a.ID || !streams(item) {
				continue
			}
			text = []byte(streamed(item))
		}
		if c.AssistantMessageID == a.ID && boundary(text, c.Offset) {
			held[c.PartID] = append(text[:c.Offset], c.Text...)
		}
	}
	for part, text := range held {
		switch it := a.Item(part).(type) {
		case *Text:
			it.Text = string(text)
		case *Reasoning:
			it.Text = string(text)
		case *Tool:
			it.State.Input = quote(string(text))
		}
	}
	return len(held) > 0
}

// Streaming reports whether a checkpoint could change the turn.
func (a *Assistant) Streaming() bool { return a.Open() && slices.ContainsFunc(a.Content, streams) }

// streams reports whether the model is still writing the item.
func streams(c Content) bool {
	switch it := c.(type) {
	case *Text:
		return !it.Time.over()
	case *Reasoning:
		return !it.Time.over()
	case *Tool:
		return it.State.Status == ToolPending
	default:
		return false
	}
}

// streamed is what an item holds that the model is still writing.
func streamed(c Content) string {
	switch it := c.(type) {
	case *Text:
		return it.Text
	case *Reasoning:
		return it.Text
	case *Tool:
		return it.RawInput()
	default:
		return ""
	}
}

// boundary reports whether a character begins at the offset, or the text ends there.
func boundary(text []byte, offset int) bool {
	return offset == len(text) || 0 <= offset && offset < len(text) && utf8.RuneStart(text[offset])
}
