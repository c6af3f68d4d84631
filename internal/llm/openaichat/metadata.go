package openaichat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The metadata keys in the dialect's namespace, for values that vendors require back with the next request.
const (
	keyField   = "reasoning_field"   // the field of the reasoning, if it is not the dialect's own
	keyDetails = "reasoning_details" // OpenRouter's structured reasoning
	keyContent = "extra_content"     // attached to a tool call
)

func (d Dialect) readMetadata(m llm.Metadata) wire.Object {
	return wire.ReadMetadata(m, d.metadataNamespace())
}

func (d Dialect) newMetadata(fields wire.Object) llm.Metadata {
	return wire.NewMetadata(d.metadataNamespace(), fields)
}

// restore adds the structured reasoning of one part to m.
func (d Dialect) restore(m *message, meta llm.Metadata) {
	if d.reasoningField() == NoReasoning {
		return
	}
	kept := d.readMetadata(meta)
	if details := kept[keyDetails]; details.Kind() == '[' {
		m.set(keyDetails, joinArrays(m.Extra[keyDetails], details))
	}
	var field string
	if json.Unmarshal(kept[keyField], &field) == nil && strings.HasPrefix(field, "reasoning") {
		m.set(field, wire.Quote(""))
	}
}

// setReasoning sets the reasoning text in its original field, else in the dialect's.
func (d Dialect) setReasoning(m *message, text string) {
	field := d.reasoningField()
	if field == NoReasoning {
		return
	}
	for name := range m.Extra {
		if name != keyDetails {
			field = name
		}
	}
	if text != "" || d.ForceReasoning {
		m.set(field, wire.Quote(text))
		return
	}
	delete(m.Extra, field)
}

func (m *message) set(name string, v jsontext.Value) {
	if m.Extra == nil {
		m.Extra = map[string]jsontext.Value{}
	}
	m.Extra[name] = v
}

func joinArrays(a, b jsontext.Value) jsontext.Value {
	first, ok := wire.ReadList(a)
	if !ok {
		return b
	}
	second, _ := wire.ReadList(b)
	return wire.MarshalOr(append(first, second...), a)
}

// encodeCallID returns a call id in a form that the vendor accepts. Equal ids stay equal and different ids stay
// different.
func (d Dialect) encodeCallID(id string) string {
	switch {
	case d.CallIDs == NineIDs && (len(id) != 9 || !wire.IsWord(id, "")):
		return wire.ShortDigest(id)[:9]
	case d.CallIDs == WordID && !wire.IsWord(id, "_-"):
		return "call_" + wire.ShortDigest(id)
	default:
		return wire.NormalizeID(id)
	}
}
