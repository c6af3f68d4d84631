package wire

import (
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// MaxMedia bounds the decoded size of one image or document (spec/v2 §20.1 LM-5).
const MaxMedia = 20 << 20

// MediaType returns the bare, lower-case type of a Content-Type value, in its usual spelling.
func MediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" {
		return "image/jpeg"
	}
	return s
}

// MediaNote stands for media that a protocol does not carry. The why says what it takes; it gives way to what is wrong
// with m itself.
func MediaNote(m llm.Media, why string) string {
	name := m.Name
	if name == "" {
		name = "unnamed"
	}
	switch {
	case len(m.Data) > MaxMedia:
		why = fmt.Sprintf("it is %d MiB large, and %d MiB is the limit", len(m.Data)>>20, MaxMedia>>20)
	case len(m.Data) == 0 && m.URL == "":
		why = "it is empty"
	}
	return fmt.Sprintf("[attachment %q (%s) was left out: %s]", name, MediaType(m.MediaType), why)
}

// HostedCallNote tells about a tool that another provider ran on its side: a history that holds one must still be
// sendable where there are no words for it.
func HostedCallNote(p llm.ToolCall) string {
	return fmt.Sprintf("[%s was run by the provider with %s]", p.Name, p.Input)
}

// Follows stands in the note of a result for pictures, of which an answer has no room: the user shows them.
const Follows = "The attachment follows in the next user message."

// Attached is what the user shows of pictures that another provider's model made; nothing for a result without.
func Attached(r llm.ToolResult) (out []llm.Part) {
	for _, m := range Media(r) {
		if len(out) == 0 {
			out = append(out, llm.Text{Text: "Attachments of the answer above:"})
		}
		out = append(out, m)
	}
	return out
}

// maxNote bounds what is told of another provider's tool, in characters; maxWord, what one word of it may have.
const (
	maxNote = 16 << 10
	maxWord = 1 << 10
)

// HostedResultNote tells what such a tool returned; text is its readable content, or its JSON as it came. Pictures and
// what only that provider can read say nothing as text and are left out.
func HostedResultNote(p llm.ToolResult, text string) string {
	var told any
	if v := jsontext.Value(text); (v.Kind() == '{' || v.Kind() == '[') && json.Unmarshal(v, &told, Foreign) == nil {
		text = string(Write(withoutSealed(told), v))
	} else {
		text = unsealed(text)
	}
	if short := Clip(text, maxNote); len(short) < len(text) {
		text = short + " …"
	}
	return fmt.Sprintf("[%s returned: %s]", p.Name, text)
}

// withoutSealed returns a JSON value without what only its provider can read, and the strings that nobody can; it may
// change v.
func withoutSealed(v any) any {
	switch v := v.(type) {
	case string:
		return unsealed(v)
	case []any:
		for i := range v {
			v[i] = withoutSealed(v[i])
		}
	case map[string]any:
		maps.DeleteFunc(v, func(name string, member any) bool { return isSealed(v, name, member) })
		for name := range v {
			v[name] = withoutSealed(v[name])
		}
	}
	return v
}

// isSealed reports whether a member is what a provider wants back as it is: encrypted_content, encrypted_index, signatures of
// thoughts, the data of thoughts that are redacted. Words are none.
func isSealed(of map[string]any, name string, member any) bool {
	text, _ := member.(string)
	if strings.ContainsAny(text, " \n") {
		return false
	}
	kind, _ := of["type"].(string)
	folded := redact.Fold(name)
	return strings.HasPrefix(folded, "encrypted") || strings.HasSuffix(folded, "signature") || strings.HasPrefix(folded, "redacted") ||
		folded == "data" && (strings.Contains(kind, "encrypted") || strings.Contains(kind, "redacted"))
}

func unsealed(text string) string {
	if len(text) > maxWord && !strings.ContainsAny(text, " \n") {
		return "(left out)"
	}
	return text
}

// updateTag encloses an instruction that arrived in the middle of the conversation (spec/v2 §20.1 LM-6).
const updateTag = "system-update"

// Update wraps a chronological instruction for protocols that have no role for it; empty if it says nothing.
func Update(parts []llm.Part) string {
	var lines []string
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok && t.Text != "" {
			lines = append(lines, t.Text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.Join(lines, "\n"))
	return "<" + updateTag + ">\n" + text + "\n</" + updateTag + ">"
}
