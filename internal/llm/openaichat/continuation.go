package openaichat

import (
	"encoding/base32"
	"hash/fnv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Continuation metadata under the dialect's namespace: what a vendor wants back with the next request.
const (
	keyField   = "reasoning_field"   // the field the reasoning came in, if it is not the dialect's own
	keyDetails = "reasoning_details" // OpenRouter's structured reasoning
	keyContent = "extra_content"     // attached to a tool call
)

// stash returns what this dialect keeps in m; nil if nothing or if it is not readable.
func (d Dialect) stash(m llm.Metadata) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if v := m[d.namespace()]; len(v) > 0 && json.Unmarshal(v, &out, foreign) != nil {
		return nil
	}
	return out
}

// metadata is the inverse of stash; nil for nothing to keep.
func (d Dialect) metadata(fields map[string]jsontext.Value) llm.Metadata {
	if len(fields) == 0 {
		return nil
	}
	v, err := json.Marshal(fields, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil
	}
	return llm.Metadata{d.namespace(): v}
}

// restore puts the structured reasoning of one part back into m.
func (d Dialect) restore(m *message, meta llm.Metadata) {
	if d.reasoningField() == NoReasoning {
		return
	}
	kept := d.stash(meta)
	if details := kept[keyDetails]; details.Kind() == '[' {
		m.set(keyDetails, joinArrays(m.Extra[keyDetails], details))
	}
	var field string
	if json.Unmarshal(kept[keyField], &field) == nil && strings.HasPrefix(field, "reasoning") {
		m.set(field, quote(""))
	}
}

// think gives the reasoning text back in the field it came in, else in the dialect's.
func (d Dialect) think(m *message, text string) {
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
		m.set(field, quote(text))
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
	var first, second []jsontext.Value
	if json.Unmarshal(a, &first, foreign) != nil {
		return b
	}
	if json.Unmarshal(b, &second, foreign) != nil {
		return a
	}
	out, err := json.Marshal(append(first, second...), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return a
	}
	return out
}

const maxCallID = 64

// callID returns id in a form that the vendor accepts; equal ids stay equal and different ones different.
func (d Dialect) callID(id string) string {
	switch {
	case d.CallIDs == NineIDs && (len(id) != 9 || !isWord(id, "")):
		return digest(id)[:9]
	case d.CallIDs == WordID && !isWord(id, "_-"), len(id) > maxCallID, id == "":
		return "call_" + digest(id)
	default:
		return id
	}
}

func isWord(s, more string) bool {
	for _, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(more, r)
		if !ok {
			return false
		}
	}
	return s != ""
}

// digest is a short stable name for s: 13 lower-case letters and digits.
func digest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)))
}
