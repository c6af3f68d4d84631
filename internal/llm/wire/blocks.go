package wire

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// TextBlock is a block of text. It emits its start with its first text, because many providers send empty blocks.
type TextBlock struct {
	Joiner Joiner
	// Metadata, if not nil, is called at the end for the metadata of the text.
	Metadata func() llm.Metadata
	run      TextRun
}

// AppendText appends s to the block.
func (b *TextBlock) AppendText(t *Turn, s string) {
	if s == "" {
		return
	}
	if b.run.ID == "" {
		b.run = t.BeginRun(false)
	}
	t.Stream.AppendText(&b.run, s)
}

func (b *TextBlock) close(t *Turn) {
	b.AppendText(t, b.Joiner.Flush())
	if b.run.ID == "" {
		return
	}
	var meta llm.Metadata
	if b.Metadata != nil {
		meta = b.Metadata()
	}
	t.EndRun(&b.run, meta)
}

// The metadata keys of reasoning, in the protocol's namespace. Vendors require these values when the reasoning is sent
// again.
const (
	KeySignature = "signature"    // of readable reasoning
	KeyRedacted  = "redactedData" // reasoning that only the provider can read
)

// ReasoningBlock is a block of reasoning. Its opaque data is emitted with its end. A block with neither text nor opaque
// data emits nothing.
type ReasoningBlock struct {
	Namespace string
	Joiner    Joiner
	Signature strings.Builder
	Redacted  strings.Builder
	run       TextRun
}

func (b *ReasoningBlock) begin(t *Turn) {
	if b.run.ID == "" {
		b.run = t.BeginRun(true)
	}
}

// AppendText appends s to the readable part.
func (b *ReasoningBlock) AppendText(t *Turn, s string) {
	if s == "" {
		return
	}
	b.begin(t)
	t.Stream.AppendText(&b.run, s)
}

// AppendOpaque appends to the data that has to be sent back verbatim.
func (b *ReasoningBlock) AppendOpaque(signature, redacted string) error {
	if b.Signature.Len()+len(signature)+b.Redacted.Len()+len(redacted) > MaxKept {
		return NewMalformed("the provider sent a signature of more than %d MiB", MaxKept>>20)
	}
	b.Signature.WriteString(signature)
	b.Redacted.WriteString(redacted)
	return nil
}

func (b *ReasoningBlock) close(t *Turn) {
	b.AppendText(t, b.Joiner.Flush())
	kept := Object{}
	if b.Signature.Len() > 0 {
		kept[KeySignature] = Quote(b.Signature.String())
	}
	if b.Redacted.Len() > 0 {
		kept[KeyRedacted] = Quote(b.Redacted.String())
	}
	if len(kept) > 0 {
		b.begin(t)
	}
	if b.run.ID != "" {
		t.EndRun(&b.run, NewMetadata(b.Namespace, kept))
	}
}
