package session

import (
	"slices"
	"unicode/utf8"
)

// Checkpoint applies checkpoints to the open items, in the order of the log: each keeps the item's text before its
// offset and appends its own text. A checkpoint that would leave a gap, splits a character or follows the end of its
// item or turn is ignored, because the end event carries the whole value. Checkpoint reports whether one was applied.
// Applying many at once has the same result as one by one, in time linear in their text.
func (a *Assistant) Checkpoint(cs ...*ItemCheckpointed) bool {
	if !a.Open() {
		return false
	}
	// Collect the bytes of each item first, so that many checkpoints take linear time.
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
	// Write the texts back to their items.
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

// isStreaming reports whether the item is still open.
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

// openText returns the text of an open item.
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

// isBoundary reports whether a character begins or the text ends at the offset.
func isBoundary(text []byte, offset int) bool {
	return offset == len(text) || 0 <= offset && offset < len(text) && utf8.RuneStart(text[offset])
}
