package openairesponses

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// maxItems bounds the items of one answer, and the blocks of one item.
const maxItems = 1024

// itemTable finds the item that an event is about. Vendors name it by an id and by an index, and many not well: some give
// another id with every event, some give the index with some kinds of events only, or the same one to all items, some
// name a call by its call's id. So an id that is known counts, then the index, and neither against what else is known.
type itemTable struct {
	order []*item
	ids   map[string]*item // by what items and calls are called; nil for what several are
	at    map[int]*item    // the latest of each index
}

// itemPlace is what the protocol says of where an item stands.
type itemPlace struct {
	kind   string // as items have it
	added  bool   // the vendor has said that it begins
	done   bool
	index  *int
	callID string // of its call
	named  bool
}

// matchItem returns the item that an event is about, a new one if it has not been heard of.
func (s *itemTable) matchItem(f *frame) (*item, error) {
	names := f.itemIDs()
	it := s.findItem(f, names)
	if it == nil {
		if len(s.order) == maxItems {
			return nil, wire.NewMalformed("the provider sent an answer of more than %d items", maxItems)
		}
		it = &item{itemPlace: itemPlace{kind: f.itemKind()}}
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
	lies := false
	if f.OutputIndex != nil {
		it := s.at[*f.OutputIndex]
		if it != nil && it.acceptsIndex(f, names) {
			return it
		}
		lies = it != nil
	}
	for _, it := range slices.Backward(s.order) {
		placed := f.OutputIndex != nil && it.index != nil && !lies
		if !placed && !it.done && (len(names) == 0 || !it.named) && it.acceptsIndex(f, names) {
			return it
		}
	}
	return nil
}

// acceptsID reports whether an event that bears the item's id is about it. One that begins or ends an item elsewhere is
// about another, if this one has begun or ended.
func (p *itemPlace) acceptsID(f *frame) bool {
	switch elsewhere := f.OutputIndex != nil && p.index != nil && *f.OutputIndex != *p.index; {
	case f.isItemStart():
		return !elsewhere || !p.added
	case f.Item != nil:
		return !elsewhere || !p.done
	}
	return true
}

// acceptsIndex reports whether an event whose id says nothing can be about the item.
func (p *itemPlace) acceptsIndex(f *frame, names []string) bool {
	switch {
	case p.kind != f.itemKind(), f.isItemStart() && p.added:
		return false
	case f.Item == nil:
		return true
	}
	call := wire.DecodeString(f.Item.CallID)
	return (call == "" || p.callID == "" || call == p.callID) && (!p.done || len(names) == 0)
}

// recordPlace keeps what an event says of where its item stands. Pieces say nothing of items that are known: their ids may
// change with every one.
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
		if known, ok := s.ids[name]; ok && known != it {
			s.ids[name] = nil
			continue
		}
		s.ids[name], it.named = it, true
	}
}

func (f *frame) isItemStart() bool { return f.Type == "response.output_item.added" }

// itemKind is the type of the item that an event is about.
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

// itemIDs are the ids that an event gives its item.
func (f *frame) itemIDs() (out []string) {
	said := []string{wire.DecodeString(f.ItemID)}
	if f.Item != nil {
		said = []string{wire.DecodeString(f.Item.ID), wire.DecodeString(f.Item.CallID)}
	}
	for _, name := range said {
		if name != "" && len(name) <= wire.MaxName {
			out = append(out, name)
		}
	}
	return out
}
