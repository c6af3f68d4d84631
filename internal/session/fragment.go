package session

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fragment is live progress of an open item: its text from byte Offset on. It is not an event: it has no Seq,
// advances no cursor and is never replayed; the item's end event carries the whole value.
type Fragment struct {
	SessionID ID
	MessageID MessageID
	PartID    PartID
	ItemID    string // the provider's name: textID, reasoningID or callID
	Item      FragmentItem
	Offset    int
	Delta     string // valid UTF-8, not empty
	Timestamp int64
}

// FragmentItem is the kind of item that a Fragment continues.
type FragmentItem string

// The items that are streamed.
const (
	FragmentText      FragmentItem = "text"
	FragmentReasoning FragmentItem = "reasoning"
	FragmentToolInput FragmentItem = "tool.input"
	FragmentSummary   FragmentItem = "compaction" // MessageID is that of the compaction
)

// Kind is the wire name of the live event, e.g. session.next.text.delta.
func (f Fragment) Kind() Kind { return Kind("session.next." + string(f.Item) + ".delta") }

// MarshalJSON writes the V2 live form, without durable.
func (f Fragment) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID   string       `json:"id"`
		Type Kind         `json:"type"`
		Data FragmentData `json:"data"`
	}{string(f.PartID), f.Kind(), f.Data()}, jsontext.AllowInvalidUTF8(true))
}

// FragmentData is the payload of a live event. Exactly one of TextID, ReasoningID and CallID is set; it may be empty. A
// fragment of a summary has MessageID and Text instead of AssistantMessageID and Delta.
type FragmentData struct {
	Timestamp          int64     `json:"timestamp"`
	SessionID          ID        `json:"sessionID"`
	AssistantMessageID MessageID `json:"assistantMessageID,omitzero"`
	MessageID          MessageID `json:"messageID,omitzero"`
	TextID             *string   `json:"textID,omitzero"`
	ReasoningID        *string   `json:"reasoningID,omitzero"`
	CallID             *string   `json:"callID,omitzero"`
	PartID             PartID    `json:"partID"`
	Offset             int       `json:"offset"`
	Delta              string    `json:"delta,omitzero"`
	Text               string    `json:"text,omitzero"`
}

// SetDelta sets the new text.
func (d *FragmentData) SetDelta(text string) {
	if d.MessageID != "" {
		d.Text = text
	} else {
		d.Delta = text
	}
}

// Data returns the payload.
func (f Fragment) Data() FragmentData {
	d := FragmentData{Timestamp: f.Timestamp, SessionID: f.SessionID, PartID: f.PartID, Offset: f.Offset}
	if f.Item == FragmentSummary {
		d.MessageID, d.Text = f.MessageID, f.Delta
		return d
	}
	d.AssistantMessageID, d.Delta = f.MessageID, f.Delta
	switch f.Item {
	case FragmentText:
		d.TextID = &f.ItemID
	case FragmentReasoning:
		d.ReasoningID = &f.ItemID
	default:
		d.CallID = &f.ItemID
	}
	return d
}

// ParseFragment reads the live form; ok is false for anything else.
func ParseFragment(kind Kind, raw []byte) (f Fragment, ok bool) {
	var item FragmentItem
	switch kind {
	case "session.next.text.delta":
		item = FragmentText
	case "session.next.reasoning.delta":
		item = FragmentReasoning
	case "session.next.tool.input.delta":
		item = FragmentToolInput
	case "session.next.compaction.delta":
		item = FragmentSummary
	default:
		return f, false
	}
	var d FragmentData
	if json.Unmarshal(raw, &d) != nil {
		return f, false
	}
	f = Fragment{
		SessionID: d.SessionID, MessageID: d.AssistantMessageID + d.MessageID, PartID: d.PartID, Item: item,
		Offset: d.Offset, Delta: d.Delta + d.Text, Timestamp: d.Timestamp,
	}
	for _, name := range []*string{d.TextID, d.ReasoningID, d.CallID} {
		if name != nil {
			f.ItemID += *name
		}
	}
	return f, true
}
