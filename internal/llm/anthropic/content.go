package anthropic

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// text is a block of text. It begins for our consumer with the first of its text: many blocks have none.
type text struct {
	id        string
	asCall    bool // the structured answer, which comes as a call's arguments
	joiner    wire.Joiner
	citations []jsontext.Value
	kept      int // bytes of the citations
}

func (b *text) grow(t *turn, p *piece) error {
	switch {
	case b.asCall && p.Input.Kind() == '{' && string(p.Input) != "{}":
		b.say(t, string(p.Input))
	case b.asCall:
		b.say(t, b.joiner.Next(p.PartialJSON))
	default:
		b.say(t, b.joiner.Next(p.Text))
	}
	for _, c := range cited(p) {
		b.kept += len(c)
		b.citations = append(b.citations, c)
	}
	if b.kept > maxKept {
		return wire.Malformed("the provider sent more than %d MiB of citations for one text", maxKept>>20)
	}
	return nil
}

func cited(p *piece) []jsontext.Value {
	list, _ := wire.List(p.Citations)
	if wire.Present(p.Citation) {
		list = append(list, p.Citation)
	}
	return list
}

func (b *text) say(t *turn, s string) {
	if s == "" {
		return
	}
	if b.id == "" {
		b.id = fmt.Sprintf("text-%d", t.names.texts)
		t.names.texts++
		t.content = true
		t.emit(llm.TextStart{ID: b.id})
	}
	t.emit(llm.TextDelta{ID: b.id, Delta: s})
}

func (b *text) end(t *turn) {
	b.say(t, b.joiner.End())
	if b.id == "" {
		return
	}
	e := llm.TextEnd{ID: b.id}
	if len(b.citations) > 0 {
		e.Metadata = kept(wire.Object{keyCitations: clean(wire.Write(b.citations, nil))})
	}
	t.emit(e)
}

// thoughts is a block of thinking. What it must go back with comes with its end.
type thoughts struct {
	id        string
	joiner    wire.Joiner
	signature strings.Builder
	redacted  jsontext.Value
}

func (b *thoughts) grow(t *turn, p *piece) error {
	b.think(t, b.joiner.Next(p.Thinking))
	b.signature.WriteString(wire.Plain(p.Signature))
	if wire.IsText(p.Data) {
		b.redacted = p.Data
	}
	if b.signature.Len() > maxKept {
		return wire.Malformed("the provider sent a signature of more than %d MiB", maxKept>>20)
	}
	return nil
}

func (b *thoughts) begin(t *turn) {
	if b.id != "" {
		return
	}
	b.id = fmt.Sprintf("reasoning-%d", t.names.thoughts)
	t.names.thoughts++
	t.content = true
	t.emit(llm.ReasoningStart{ID: b.id})
}

func (b *thoughts) think(t *turn, s string) {
	if s == "" {
		return
	}
	b.begin(t)
	t.emit(llm.ReasoningDelta{ID: b.id, Delta: s})
}

func (b *thoughts) end(t *turn) {
	b.think(t, b.joiner.End())
	fields := wire.Object{}
	if b.signature.Len() > 0 {
		fields[keySignature] = wire.Quote(b.signature.String())
	}
	if b.redacted != nil {
		fields[keyRedacted] = wire.Quote(wire.Plain(b.redacted))
	}
	if len(fields) > 0 {
		b.begin(t)
	}
	if b.id != "" {
		t.emit(llm.ReasoningEnd{ID: b.id, Metadata: kept(fields)})
	}
}

func kept(fields wire.Object) llm.Metadata { return wire.Metadata(namespace, fields) }

// clean returns v as JSON that anybody reads: a vendor's may repeat names or not be quite UTF-8.
func clean(v jsontext.Value) jsontext.Value {
	if v.IsValid() {
		return v
	}
	if fields, ok := wire.ReadObject(v); ok {
		v = wire.Write(fields, nil)
	}
	if v = jsontext.Value(strings.ToValidUTF8(string(v), "\uFFFD")); v.IsValid() {
		return v
	}
	return wire.Quote(string(v))
}
