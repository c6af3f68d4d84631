package transfer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// Replacement is what an export leaves out or replaces, of one kind.
type Replacement = api.Replacement

// kindSecret is the kind of texts from which secrets were removed. No member has such a name.
const kindSecret = "looks like a secret"

// The bounds of a preview.
const (
	maxExcerpt = 40       // bytes of an excerpt
	maxKinds   = 1000     // further kinds are counted as "other"
	maxScanned = 64 << 10 // bytes of a text in which secrets are looked for
)

// ListReplacements returns what was replaced until now, by kind.
func (e *Export) ListReplacements() []Replacement {
	out := make([]Replacement, 0, len(e.replaced))
	for _, r := range e.replaced {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Replacement) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// note counts a text that is replaced.
func (e *Export) note(kind, text string) {
	if e.replaced == nil {
		e.replaced = map[string]*Replacement{}
	}
	kind = cmp.Or(kind, "text")
	if len(e.replaced) >= maxKinds && e.replaced[kind] == nil {
		kind = "other"
	}
	r := e.replaced[kind]
	if r == nil {
		r = &Replacement{Kind: kind}
		e.replaced[kind] = r
	}
	r.Count++
	if r.Excerpt == "" {
		r.Excerpt = e.excerpt(kind, text)
	}
}

// excerpt returns the beginning of a text, or its part around the first secret. The secret is removed before the text
// is cut, so that no part of it is left.
func (e *Export) excerpt(member, text string) string {
	if member != kindSecret && redact.IsCredentialName(redact.FoldName(member)) {
		return redact.Mark
	}
	if len(text) > maxScanned {
		text = text[:maxScanned]
		if cut := strings.LastIndexAny(text, " \n\t"); cut > 0 { // a secret that is cut may not be recognised
			text = text[:cut]
		} else {
			return ""
		}
	}
	// Remove secrets, and begin at the first one if it is further behind.
	text = (&redaction.Filter{Known: e.Known}).Text("", text)
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if at := strings.Index(text, redact.Mark); at > maxExcerpt/2 && member == kindSecret {
		at -= maxExcerpt / 2
		for !utf8.RuneStart(text[at]) {
			at--
		}
		text = "…" + text[at:]
	}
	if len(text) <= maxExcerpt {
		return text
	}
	end := maxExcerpt
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// noteDifference counts what OpenCode's form of sanitizing has replaced in a value: texts by "[redacted:KIND:ID]", and
// members that are left out.
func (e *Export) noteDifference(before, after jsontext.Value) {
	var a, b any
	if json.Unmarshal(before, &a, jsontext.AllowInvalidUTF8(true)) == nil &&
		json.Unmarshal(after, &b, jsontext.AllowInvalidUTF8(true)) == nil {
		e.compareValues("", a, b)
	}
}

// compareValues compares a value of the member name before and after.
func (e *Export) compareValues(name string, before, after any) {
	switch after := after.(type) {
	case string:
		if kind, ok := redactedKind(after); ok {
			e.note(kind, textOf(before))
		}
	case []any:
		old, _ := before.([]any)
		for i, v := range after {
			if i < len(old) {
				e.compareValues(name, old[i], v)
			}
		}
	case map[string]any:
		old, _ := before.(map[string]any)
		mark, _ := after["redacted"].(string)
		if kind, ok := redactedKind(mark); ok && len(after) == 1 {
			e.note(kind, textOf(before))
			return
		}
		for member, v := range old {
			if _, kept := after[member]; !kept {
				e.note(member, textOf(v))
			}
		}
		for member, v := range after {
			e.compareValues(member, old[member], v)
		}
	}
}

// redactedKind returns the kind of a replaced text: [redacted:KIND:ID].
func redactedKind(text string) (kind string, ok bool) {
	text, ok = strings.CutPrefix(text, "[redacted:")
	kind, _, _ = strings.Cut(strings.TrimSuffix(text, "]"), ":")
	return kind, ok
}

// textOf returns a text, or the size of another value.
func textOf(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return ""
	}
	return describeSize(raw)
}

// describeSize stands for a value in which a secret may not be recognised.
func describeSize(v jsontext.Value) string { return fmt.Sprintf("%d bytes of JSON", len(v)) }
