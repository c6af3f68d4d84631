package openairesponses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// item is one output item as far as it is known.
type item struct {
	place
	id        string // the vendor's; empty until it says
	phase     jsontext.Value
	notes     jsontext.Value
	encrypted jsontext.Value
	blocks    []*block
	call      *call
}

type blockKind int

const (
	textBlock    blockKind = iota
	summaryBlock           // of reasoning
	thoughtBlock           // reasoning itself, where a model shows it
)

// block is a run of text or of reasoning.
type block struct {
	wire.TextRun
	kind   blockKind
	index  int
	some   bool // a piece has arrived
	closed bool
}

// output takes what the vendor says of a whole item, when it begins or when it is done.
func (t *turn) output(it *item, o *outputItem, done bool) error {
	if it.done {
		return nil
	}
	it.done = done
	if it.id == "" || done {
		if id := wire.DecodeString(o.ID); id != "" && len(id) <= wire.MaxName {
			it.id = id
		}
	}
	switch o.Type {
	case "message":
		return t.message(it, o)
	case "reasoning":
		return t.reasoning(it, o)
	case "function_call":
		return t.functionCall(it, o)
	case "mcp_approval_request":
		return t.approval(it, o)
	}
	if name, ok := strings.CutSuffix(o.Type, "_call"); ok && name != "" && done {
		t.hosted(it, name, o)
	}
	return nil
}

func (t *turn) message(it *item, o *outputItem) error {
	if wire.IsNonEmptyString(o.Phase) {
		it.phase = o.Phase
	}
	if !it.done {
		return nil
	}
	texts := make([]jsontext.Value, len(o.Content))
	for i, p := range o.Content {
		texts[i] = p.Text
		if wire.IsNonEmptyString(p.Refusal) {
			t.refused = true
			texts[i] = p.Refusal
		}
		if list, ok := wire.ReadList(p.Annotations); ok && len(list) > 0 {
			it.notes = p.Annotations
		}
	}
	if err := t.rest(it, textBlock, texts); err != nil {
		return err
	}
	t.close(it)
	return nil
}

func (t *turn) reasoning(it *item, o *outputItem) error {
	if wire.IsNonEmptyString(o.Encrypted) {
		it.encrypted = o.Encrypted
	}
	if !it.done {
		return nil
	}
	if err := t.rest(it, summaryBlock, textsOf(o.Summary)); err != nil {
		return err
	}
	if err := t.rest(it, thoughtBlock, textsOf(o.Content)); err != nil {
		return err
	}
	if len(it.blocks) == 0 && (it.encrypted != nil || t.stored) {
		t.begin(it, summaryBlock, 0)
	}
	t.close(it)
	return nil
}

func textsOf(parts []contentPart) []jsontext.Value {
	texts := make([]jsontext.Value, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return texts
}

// rest gives out what of a done item's texts did not come in pieces. Some vendors count the parts otherwise in their
// pieces: where as many came as there are, nothing is left.
func (t *turn) rest(it *item, kind blockKind, texts []jsontext.Value) error {
	left := 0
	for _, text := range texts {
		if wire.IsNonEmptyString(text) {
			left++
		}
	}
	for _, b := range it.blocks {
		if b.kind == kind && b.some {
			left--
		}
	}
	if left <= 0 {
		return nil
	}
	for i, text := range texts {
		if err := t.whole(it.self, kind, i, text); err != nil {
			return err
		}
	}
	return nil
}

func (it *item) self() (*item, error) { return it, nil }

// piece adds to a block of an item; begin finds the item, which only text brings into being.
func (t *turn) piece(begin func() (*item, error), kind blockKind, index int, text jsontext.Value) error {
	if !wire.IsNonEmptyString(text) {
		return nil
	}
	it, err := begin()
	if err != nil {
		return err
	}
	b := it.block(kind, index)
	if b == nil {
		if len(it.blocks) == maxItems {
			return wire.NewMalformed("the provider sent an item of more than %d parts", maxItems)
		}
		b = t.begin(it, kind, index)
	}
	if b.closed {
		return nil
	}
	b.some = true
	t.AppendText(&b.TextRun, b.Joiner.Next(text))
	return nil
}

// whole gives out a text that did not come in pieces.
func (t *turn) whole(begin func() (*item, error), kind blockKind, index int, text jsontext.Value) error {
	if !wire.IsNonEmptyString(text) {
		return nil
	}
	it, err := begin()
	if err != nil {
		return err
	}
	if b := it.block(kind, index); b != nil && b.some {
		return nil
	}
	return t.piece(it.self, kind, index, text)
}

func (it *item) block(kind blockKind, index int) *block {
	for _, b := range it.blocks {
		if b.kind == kind && b.index == index {
			return b
		}
	}
	return nil
}

// begin opens a block. The one before it of the same item has ended: a summary's parts come one after another.
func (t *turn) begin(it *item, kind blockKind, index int) *block {
	if n := len(it.blocks); n > 0 {
		t.closeBlock(it, it.blocks[n-1], false)
	}
	b := &block{TextRun: t.BeginRun(kind != textBlock), kind: kind, index: index}
	it.blocks = append(it.blocks, b)
	return b
}

// close ends the blocks of an item. The last carries what the item needs to be given back.
func (t *turn) close(it *item) {
	for i, b := range it.blocks {
		t.closeBlock(it, b, i == len(it.blocks)-1)
	}
}

func (t *turn) closeBlock(it *item, b *block, last bool) {
	if b.closed {
		return
	}
	b.closed = true
	t.FlushText(&b.TextRun)
	kept := wire.Object{}
	if it.id != "" {
		kept[keyItem] = wire.Quote(it.id)
	}
	if !b.Reasoning && it.phase != nil {
		kept[keyPhase] = it.phase
	}
	if !b.Reasoning && last && it.notes != nil {
		kept[keyNotes] = it.notes
	}
	if b.Reasoning && last && it.encrypted != nil {
		kept[keyEncrypted] = it.encrypted
	}
	t.EndRun(&b.TextRun, wire.NewMetadata(t.d.namespace(), kept))
}
