package record

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// item is a block of the answer: a text, a reasoning, or the arguments of a call.
type item struct {
	kind    session.FragmentItem
	part    session.PartID
	id      string // the provider's
	name    string // of the tool
	meta    llm.Metadata
	text    []byte
	saved   int       // bytes that a checkpoint has
	started time.Time // by the model

	startCommitted bool
	done           bool // the model ended it; the next commit records that
	endCommitted   bool
}

// inputDelay is how long the arguments of a call may stream before live readers see them. Most come faster, and then
// their start needs no commit of its own.
const inputDelay = 20 * time.Millisecond

func itemKey(kind session.FragmentItem, id string) string { return string(kind) + "\x00" + id }

// startItem opens an item. The start of a text is committed at once, that of arguments after inputDelay.
func (r *Recorder) startItem(ctx context.Context, it *item) error {
	key := itemKey(it.kind, it.id)
	if r.items[key] != nil {
		return violationf("%s %q starts twice", it.kind, it.id)
	}
	if r.start == "" {
		r.start = r.config.Journal.NewPartID()
	}
	it.part, it.started = r.config.Journal.NewPartID(), r.config.Journal.Now()
	r.items[key] = it
	r.order = append(r.order, it)
	if it.kind == session.FragmentToolInput {
		return nil
	}
	return r.Commit(ctx, store.Relaxed)
}

func (r *Recorder) openItem(kind session.FragmentItem, id string) (*item, error) {
	it := r.items[itemKey(kind, id)]
	if it == nil || it.done {
		return nil, violationf("%s %q goes on but is not open", kind, id)
	}
	return it, nil
}

func (r *Recorder) appendDelta(ctx context.Context, kind session.FragmentItem, id, delta string) error {
	it, err := r.openItem(kind, id)
	if err != nil {
		return err
	}
	// Text that cannot be stored is not shown either.
	delta, tooLong := r.countBytes(strings.ToValidUTF8(delta, "\uFFFD"))
	it.text = append(it.text, delta...)
	r.unsaved += len(delta)
	switch {
	case it.startCommitted:
		r.config.Journal.Log.Publish(r.config.SessionID, it.part, delta)
	case r.config.Journal.Now().Sub(it.started) > inputDelay:
		if err := r.Commit(ctx, store.Relaxed); err != nil {
			return err
		}
	}
	if err := fault.Point(ctx, fault.TurnDelta); err != nil {
		return err
	}
	if r.unsaved >= r.config.CheckBytes {
		if err := r.Checkpoint(ctx); err != nil {
			return err
		}
	}
	return tooLong
}

// endItem notes that the model ended the item. The next commit records it.
func (r *Recorder) endItem(kind session.FragmentItem, id string, meta llm.Metadata) error {
	it, err := r.openItem(kind, id)
	if err != nil {
		return err
	}
	it.done, it.meta = true, meta
	r.unsaved -= len(it.text) - it.saved
	return nil
}

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
func (it *item) endEvent(m session.MessageID, meta llm.Metadata, partial bool) session.EventData {
	text := string(it.text)
	switch it.kind {
	case session.FragmentText:
		return &session.TextEnded{
			TurnFact: session.OfTurn(m), TextID: it.id, PartID: it.part, Text: text, Partial: partial,
			ProviderMetadata: encodeMetadata(meta),
		}
	case session.FragmentReasoning:
		return &session.ReasoningEnded{
			TurnFact: session.OfTurn(m), ReasoningID: it.id, PartID: it.part, Text: text, Partial: partial,
			ProviderMetadata: encodeMetadata(meta),
		}
	default:
		return &session.ToolInputEnded{TurnFact: session.OfTurn(m), CallID: it.id, PartID: it.part, Text: text}
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
