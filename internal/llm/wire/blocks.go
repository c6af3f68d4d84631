package wire

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Text is a block of text. It begins for our consumer with the first of its text: many blocks have none.
type Text struct {
	Joiner Joiner
	// Metadata, if not nil, is asked at the end for what goes back with the text.
	Metadata func() llm.Metadata
	run      Run
}

// Say continues the text.
func (b *Text) Say(t *Turn, s string) {
	if s == "" {
		return
	}
	if b.run.ID == "" {
		b.run = t.Begin(false)
	}
	t.Stream.Say(&b.run, s)
}

func (b *Text) end(t *Turn) {
	b.Say(t, b.Joiner.End())
	if b.run.ID == "" {
		return
	}
	var meta llm.Metadata
	if b.Metadata != nil {
		meta = b.Metadata()
	}
	t.End(&b.run, meta)
}

// What thoughts must go back with, in their protocol's namespace.
const (
	KeySignature = "signature"    // of thoughts
	KeyRedacted  = "redactedData" // thoughts that only the provider can read
)

// Thoughts is a block of thinking. What it must go back with comes with its end; without any of it and without text
// there is nothing to tell.
type Thoughts struct {
	Namespace string
	Joiner    Joiner
	Signature strings.Builder
	Redacted  strings.Builder
	run       Run
}

func (b *Thoughts) begin(t *Turn) {
	if b.run.ID == "" {
		b.run = t.Begin(true)
	}
}

// Think continues the readable part.
func (b *Thoughts) Think(t *Turn, s string) {
	if s == "" {
		return
	}
	b.begin(t)
	t.Stream.Say(&b.run, s)
}

// Keep continues what must go back.
func (b *Thoughts) Keep(signature, redacted string) error {
	if b.Signature.Len()+len(signature)+b.Redacted.Len()+len(redacted) > MaxKept {
		return Malformed("the provider sent a signature of more than %d MiB", MaxKept>>20)
	}
	b.Signature.WriteString(signature)
	b.Redacted.WriteString(redacted)
	return nil
}

func (b *Thoughts) end(t *Turn) {
	b.Think(t, b.Joiner.End())
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
		t.End(&b.run, Metadata(b.Namespace, kept))
	}
}
