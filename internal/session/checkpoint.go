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
			if c.AssistantMessageID != a.ID || !isStreaming(item) {
				continue
			}
			text = []byte(openText(item))
		}
		if c.AssistantMessageID == a.ID && isBoundary(text, c.Offset) {
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
			it.State.Input = quoteText(string(text))
		}
	}
	return len(held) > 0
}

// IsStreaming reports whether a checkpoint could change the turn.
func (a *Assistant) IsStreaming() bool {
	return a.Open() && slices.ContainsFunc(a.Content, isStreaming)
}

// isStreaming reports whether the model is still writing the item.
func isStreaming(c Content) bool {
	switch it := c.(type) {
	case *Text:
		return !it.Time.hasEnded()
	case *Reasoning:
		return !it.Time.hasEnded()
	case *Tool:
		return it.State.Status == ToolPending
	default:
		return false
	}
}

// openText is what an item holds that the model is still writing.
func openText(c Content) string {
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

// isBoundary reports whether a character begins at the offset, or the text ends there.
func isBoundary(text []byte, offset int) bool {
	return offset == len(text) || 0 <= offset && offset < len(text) && utf8.RuneStart(text[offset])
}
