package turnlog

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// item is a block of the answer: a text, a reasoning, or the arguments of a call.
type item struct {
	kind  session.FragmentItem
	part  session.PartID
	id    string // the provider's
	name  string // of the tool
	meta  llm.Metadata
	text  []byte
	saved int // bytes that a checkpoint has
	// replaced says what the text took the place of; nil: it is the model's.
	replaced *session.Replacement
	started  time.Time // by the model

	startCommitted bool
	done           bool // the model ended it; the next commit records that
	endCommitted   bool
}

// inputDelay is the time for which the arguments of a call may stream before live readers see them. Most come faster,
// and then their start needs no commit of its own.
const inputDelay = 20 * time.Millisecond

func itemKey(kind session.FragmentItem, id string) string { return string(kind) + "\x00" + id }

func (it *item) startEvent() session.EventData {
	switch it.kind {
	case session.FragmentText:
		return &session.TextStarted{TextID: it.id, PartID: it.part}
	case session.FragmentReasoning:
		return &session.ReasoningStarted{ReasoningID: it.id, PartID: it.part, ProviderMetadata: encodeMetadata(it.meta)}
	default:
		return &session.ToolInputStarted{CallID: it.id, PartID: it.part, Name: it.name}
	}
}

// endEvent returns the event that ends the item with its text. Partial text is one that the model did not end itself.
func (it *item) endEvent(meta llm.Metadata, partial bool) session.EventData {
	text := string(it.text)
	switch it.kind {
	case session.FragmentText:
		return &session.TextEnded{
			TextID: it.id, PartID: it.part, Text: text, Partial: partial,
			ProviderMetadata: encodeMetadata(meta), Replaced: it.replaced,
		}
	case session.FragmentReasoning:
		return &session.ReasoningEnded{
			ReasoningID: it.id, PartID: it.part, Text: text, Partial: partial,
			ProviderMetadata: encodeMetadata(meta),
		}
	default:
		return &session.ToolInputEnded{CallID: it.id, PartID: it.part, Text: text}
	}
}

// encodeMetadata encodes opaque provider data; nil stays nil.
func encodeMetadata(m llm.Metadata) jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil // not JSON, so it could not be sent back
	}
	return b
}
