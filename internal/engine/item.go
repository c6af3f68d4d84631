package engine

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

// openItem is a block that the model is still writing.
type openItem struct {
	kind  session.FragmentItem
	part  session.PartID
	id    string // the provider's
	name  string // of the tool
	meta  llm.Metadata
	text  []byte
	saved int       // bytes that a checkpoint has
	at    time.Time // when the model began it
	begun bool      // its start is committed
	done  bool      // the model ended it; the next commit says so
	ended bool      // that is committed
}

func key(kind session.FragmentItem, id string) string { return string(kind) + "\x00" + id }

// start opens an item. Text is there for readers at once; the arguments of a call only when they take longer than a
// moment to come, because most come whole.
func (t *turn) start(ctx context.Context, it *openItem) error {
	k := key(it.kind, it.id)
	if t.items[k] != nil {
		return violation("%s %q starts twice", it.kind, it.id)
	}
	if t.begins == "" {
		t.begins = t.partID() // before its items
	}
	it.part, it.at = t.partID(), t.now()
	t.items[k] = it
	t.order = append(t.order, it)
	if it.kind == session.FragmentToolInput {
		return nil
	}
	return t.commit(ctx, store.Relaxed)
}

// moment is how long the arguments of a call may take before readers see them come.
const moment = 20 * time.Millisecond

func (t *turn) startOf(it *openItem) session.EventData {
	switch it.kind {
	case session.FragmentText:
		return &session.TextStarted{TextID: it.id, PartID: it.part}
	case session.FragmentReasoning:
		return &session.ReasoningStarted{ReasoningID: it.id, PartID: it.part, ProviderMetadata: metadata(it.meta)}
	default:
		return &session.ToolInputStarted{CallID: it.id, PartID: it.part, Name: it.name}
	}
}

func (t *turn) open(kind session.FragmentItem, id string) (*openItem, error) {
	it := t.items[key(kind, id)]
	if it == nil || it.done {
		return nil, violation("%s %q goes on but is not open", kind, id)
	}
	return it, nil
}

func (t *turn) delta(ctx context.Context, kind session.FragmentItem, id, delta string) error {
	it, err := t.open(kind, id)
	if err != nil {
		return err
	}
	delta, long := t.fit(strings.ToValidUTF8(delta, "\uFFFD")) // what cannot be stored is not shown either
	it.text = append(it.text, delta...)
	t.dirty += len(delta)
	switch {
	case it.begun:
		t.log.Publish(t.id, it.part, delta)
	case t.now().Sub(it.at) > moment:
		if err := t.commit(ctx, store.Relaxed); err != nil {
			return err
		}
	}
	if err := fault.Point(ctx, fault.TurnDelta); err != nil {
		return err
	}
	if t.dirty >= t.limits.CheckBytes {
		if err := t.checkpoint(ctx); err != nil {
			return err
		}
	}
	return long
}

func (t *turn) end(kind session.FragmentItem, id string, meta llm.Metadata) error {
	it, err := t.open(kind, id)
	if err != nil {
		return err
	}
	it.done, it.meta = true, meta
	t.dirty -= len(it.text) - it.saved
	return nil
}

func (t *turn) endOf(it *openItem, meta llm.Metadata, partial bool) session.EventData {
	text := string(it.text)
	switch it.kind {
	case session.FragmentText:
		return &session.TextEnded{AssistantMessageID: t.message, TextID: it.id, PartID: it.part, Text: text, Partial: partial, ProviderMetadata: metadata(meta)}
	case session.FragmentReasoning:
		return &session.ReasoningEnded{AssistantMessageID: t.message, ReasoningID: it.id, PartID: it.part, Text: text, Partial: partial, ProviderMetadata: metadata(meta)}
	default:
		return &session.ToolInputEnded{AssistantMessageID: t.message, CallID: it.id, PartID: it.part, Text: text}
	}
}

// metadata encodes opaque provider data; nil stays nil.
func metadata(m llm.Metadata) jsontext.Value {
	if len(m) == 0 {
		return nil
	}
	b, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil // not JSON: nothing that could be given back
	}
	return b
}
