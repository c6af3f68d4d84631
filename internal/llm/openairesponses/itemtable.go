package openairesponses

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// maxItems bounds the items of one answer, and the blocks of one item.
const maxItems = 1024

// itemTable finds the item of an event. Vendors identify it by an id and an index, often inconsistently: some change
// the id with every event, some send the index only with some events or the same index for all items, some use a call's
// id for the item. Match by known id first, then by index, unless the index contradicts the id or the item's type.
type itemTable struct {
	order []*item
	ids   map[string]*item // by item id and call id; nil for ambiguous ids
	at    map[int]*item    // the latest item at each index
}

// itemIdentity holds the identity of an item as far as the events report it.
type itemIdentity struct {
	kind   string // the item's type
	added  bool   // its start event has arrived
	done   bool
	index  *int
	callID string // of the item's call
	named  bool   // it has an id
}

// matchItem returns the item of an event, or a new one.
func (s *itemTable) matchItem(f *frame) (*item, error) {
	names := f.itemIDs()
	it := s.findItem(f, names)
	if it == nil {
		if len(s.order) == maxItems {
			return nil, wire.NewMalformed("the provider sent an answer of more than %d items", maxItems)
		}
		it = &item{itemIdentity: itemIdentity{kind: f.itemKind()}}
		s.order = append(s.order, it)
	}
	s.recordPlace(it, f, names)
	return it, nil
}

func (s *itemTable) findItem(f *frame, names []string) *item {
	for _, name := range names {
		if it := s.ids[name]; it != nil && it.kind == f.itemKind() && it.acceptsID(f) {
			return it
		}
	}
	isWrongIndex := false
	if f.OutputIndex != nil {
		it := s.at[*f.OutputIndex]
		if it != nil && it.acceptsIndex(f, names) {
			return it
		}
		isWrongIndex = it != nil
	}
	for _, it := range slices.Backward(s.order) {
		hasOtherIndex := f.OutputIndex != nil && it.index != nil && !isWrongIndex
		if !hasOtherIndex && !it.done && (len(names) == 0 || !it.named) && it.acceptsIndex(f, names) {
			return it
		}
	}
	return nil
}

// acceptsID reports whether an event with the item's id belongs to it. A start or end event at another index belongs to
// another item if this one has already started or ended.
func (p *itemIdentity) acceptsID(f *frame) bool {
	switch isElsewhere := f.OutputIndex != nil && p.index != nil && *f.OutputIndex != *p.index; {
	case f.isItemStart():
		return !isElsewhere || !p.added
	case f.Item != nil:
		return !isElsewhere || !p.done
	}
	return true
}

// acceptsIndex reports whether an event with an unknown id can belong to the item.
func (p *itemIdentity) acceptsIndex(f *frame, names []string) bool {
	switch {
	case p.kind != f.itemKind(), f.isItemStart() && p.added:
		return false
	case f.Item == nil:
		return true
	}
	call := wire.DecodeString(f.Item.CallID)
	return (call == "" || p.callID == "" || call == p.callID) && (!p.done || len(names) == 0)
}

// recordPlace records what an event reports about its item. Deltas of a known item add nothing: their ids may change
// with every event.
func (s *itemTable) recordPlace(it *item, f *frame, names []string) {
	if f.OutputIndex != nil && it.index == nil {
		it.index, s.at[*f.OutputIndex] = f.OutputIndex, it
	}
	if it.done || it.named && f.Item == nil {
		return
	}
	it.added = it.added || f.isItemStart()
	if f.Item != nil && it.callID == "" {
		it.callID = wire.DecodeString(f.Item.CallID)
	}
	for _, name := range names {
		if other, ok := s.ids[name]; ok && other != it {
			s.ids[name] = nil
			continue
		}
		s.ids[name], it.named = it, true
	}
}

func (f *frame) isItemStart() bool { return f.Type == "response.output_item.added" }

// itemKind returns the type of the event's item.
func (f *frame) itemKind() string {
	switch {
	case f.Item != nil:
		return f.Item.Type
	case strings.HasPrefix(f.Type, "response.reasoning"):
		return "reasoning"
	case strings.HasPrefix(f.Type, "response.function_call"):
		return "function_call"
	}
	return "message"
}

// itemIDs returns the ids of the event's item.
func (f *frame) itemIDs() (out []string) {
	ids := []string{wire.DecodeString(f.ItemID)}
	if f.Item != nil {
		ids = []string{wire.DecodeString(f.Item.ID), wire.DecodeString(f.Item.CallID)}
	}
	for _, name := range ids {
		if name != "" && len(name) <= wire.MaxName {
			out = append(out, name)
		}
	}
	return out
}
