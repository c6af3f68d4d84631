package openairesponses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// item is the state of one output item.
type item struct {
	itemIdentity
	id        string // the vendor's id; empty until it is known
	phase     jsontext.Value
	notes     jsontext.Value
	encrypted jsontext.Value
	late      bool // its block follows those of later items
	blocks    []*block
	call      *callState
}

type blockKind int

const (
	textBlock    blockKind = iota
	summaryBlock           // of reasoning
	thoughtBlock           // readable reasoning of models that expose it
)

// block is a run of text or of reasoning.
type block struct {
	wire.TextRun
	kind   blockKind
	index  int
	some   bool // a piece has arrived
	closed bool
}

// applyItem applies an item at its start or at its end.
func (t *turn) applyItem(it *item, o *outputItem, done bool) error {
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
		return t.applyMessage(it, o)
	case "reasoning":
		return t.applyReasoning(it, o)
	case "function_call":
		return t.applyCall(it, o)
	case "mcp_approval_request":
		return t.noteApproval(it, o)
	}
	if name, ok := strings.CutSuffix(o.Type, "_call"); ok && name != "" && done {
		t.emitHosted(it, name, o)
	}
	return nil
}

func (t *turn) applyMessage(it *item, o *outputItem) error {
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
	if err := t.appendRest(it, textBlock, texts); err != nil {
		return err
	}
	t.closeItem(it)
	return nil
}

func (t *turn) applyReasoning(it *item, o *outputItem) error {
	if wire.IsNonEmptyString(o.Encrypted) {
		it.encrypted = o.Encrypted
	}
	if !it.done {
		return nil
	}
	if err := t.appendRest(it, summaryBlock, textsOf(o.Summary)); err != nil {
		return err
	}
	if err := t.appendRest(it, thoughtBlock, textsOf(o.Content)); err != nil {
		return err
	}
	if len(it.blocks) == 0 && (it.encrypted != nil || t.stored) {
		t.beginBlock(it, summaryBlock, 0)
	}
	if it.encrypted != nil || t.stored { // else the last block stays open: the end of the answer may bring the content
		t.closeItem(it)
	}
	return nil
}

func textsOf(parts []contentPart) []jsontext.Value {
	texts := make([]jsontext.Value, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return texts
}

// appendRest emits the texts of a completed item that did not arrive in pieces. Some vendors number the parts
// differently in their pieces, so nothing is missing if as many arrived.
func (t *turn) appendRest(it *item, kind blockKind, texts []jsontext.Value) error {
	missing := 0
	for _, text := range texts {
		if wire.IsNonEmptyString(text) {
			missing++
		}
	}
	for _, b := range it.blocks {
		if b.kind == kind && b.some {
			missing--
		}
	}
	if missing <= 0 {
		return nil
	}
	for i, text := range texts {
		if err := t.appendWhole(it.find, kind, i, text); err != nil {
			return err
		}
	}
	return nil
}

func (it *item) find() (*item, error) { return it, nil }

// appendPiece appends to a block of an item. find returns the item, which is created only for text.
func (t *turn) appendPiece(find func() (*item, error), kind blockKind, index int, text jsontext.Value) error {
	if !wire.IsNonEmptyString(text) {
		return nil
	}
	it, err := find()
	if err != nil {
		return err
	}
	b := it.block(kind, index)
	if b == nil {
		if len(it.blocks) == maxItems {
			return wire.NewMalformed("the provider sent an item of more than %d parts", maxItems)
		}
		b = t.beginBlock(it, kind, index)
	}
	if b.closed {
		return nil
	}
	b.some = true
	t.AppendText(&b.TextRun, b.Joiner.Next(text))
	return nil
}

// appendWhole emits a text that did not arrive in pieces.
func (t *turn) appendWhole(find func() (*item, error), kind blockKind, index int, text jsontext.Value) error {
	if !wire.IsNonEmptyString(text) {
		return nil
	}
	it, err := find()
	if err != nil {
		return err
	}
	if b := it.block(kind, index); b != nil && b.some {
		return nil
	}
	return t.appendPiece(it.find, kind, index, text)
}

func (it *item) block(kind blockKind, index int) *block {
	for _, b := range it.blocks {
		if b.kind == kind && b.index == index {
			return b
		}
	}
	return nil
}

// beginBlock opens a block. The previous block of the item ends: the parts of a summary are consecutive.
func (t *turn) beginBlock(it *item, kind blockKind, index int) *block {
	if n := len(it.blocks); n > 0 {
		t.closeBlock(it, it.blocks[n-1], false)
	}
	b := &block{TextRun: t.BeginRun(kind != textBlock), kind: kind, index: index}
	it.blocks = append(it.blocks, b)
	return b
}

// closeItem ends the blocks of an item. The metadata for the next request is on the last one.
func (t *turn) closeItem(it *item) {
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
		kept[keyAnnotations] = it.notes
	}
	if b.Reasoning && last && it.encrypted != nil {
		kept[keyEncrypted] = it.encrypted
		if it.late {
			kept[keyLate] = jsontext.Value("true")
		}
	}
	t.EndRun(&b.TextRun, wire.NewMetadata(t.d.metadataNamespace(), kept))
}
