package wire

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// MaxMedia bounds the decoded size of one image or document.
const MaxMedia = 20 << 20

// MediaType returns the type of a Content-Type value in lower case, without parameters, in its usual spelling.
func MediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" {
		return "image/jpeg"
	}
	return s
}

// MediaNote returns the text that replaces media that a protocol cannot carry. why is what the protocol accepts; a
// problem of m itself takes precedence.
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

// HostedCallNote returns the text that replaces a hosted call of another provider, so that a history with one can be
// sent through every protocol.
func HostedCallNote(p llm.ToolCall) string {
	return fmt.Sprintf("[%s was run by the provider with %s]", p.Name, p.Input)
}

// AttachmentFollows replaces the images of a result in an answer, which cannot carry them; AttachmentParts adds them to
// the next user message.
const AttachmentFollows = "The attachment follows in the next user message."

// AttachmentParts returns the parts of a user message that carry the images of a result; nil if it has none.
func AttachmentParts(r llm.ToolResult) (out []llm.Part) {
	for m := range llm.PartsOf[llm.Media](r.Content) {
		if len(out) == 0 {
			out = append(out, llm.Text{Text: "Attachments of the answer above:"})
		}
		out = append(out, m)
	}
	return out
}

// The limits of a hosted result's text, in characters: of the whole, and of one word.
const (
	maxNote = 16 << 10
	maxWord = 1 << 10
)

// HostedResultNote returns the text that replaces the result of a hosted call of another provider. text is its readable
// content or its JSON. Data that only that provider can read is left out.
func HostedResultNote(p llm.ToolResult, text string) string {
	var decoded any
	if v := jsontext.Value(text); (v.Kind() == '{' || v.Kind() == '[') && json.Unmarshal(v, &decoded, Foreign) == nil {
		text = string(MarshalOr(removeSealed(decoded), v))
	} else {
		text = omitLongWord(text)
	}
	if short := Clip(text, maxNote); len(short) < len(text) {
		text = short + " …"
	}
	return fmt.Sprintf("[%s returned: %s]", p.Name, text)
}

// removeSealed returns a JSON value without the members that only its provider can read and without long words, which
// only a machine can. It may modify v.
func removeSealed(v any) any {
	switch v := v.(type) {
	case string:
		return omitLongWord(v)
	case []any:
		for i := range v {
			v[i] = removeSealed(v[i])
		}
	case map[string]any:
		maps.DeleteFunc(v, func(name string, member any) bool { return isSealed(v, name, member) })
		for name := range v {
			v[name] = removeSealed(v[name])
		}
	}
	return v
}

// isSealed reports whether a member is opaque data of a provider: encrypted content and indexes, signatures, redacted
// reasoning. Prose is not opaque.
func isSealed(object map[string]any, name string, member any) bool {
	text, _ := member.(string)
	if strings.ContainsAny(text, " \n") {
		return false
	}
	kind, _ := object["type"].(string)
	folded := redact.FoldName(name)
	return strings.HasPrefix(folded, "encrypted") || strings.HasSuffix(folded, "signature") ||
		strings.HasPrefix(folded, "redacted") ||
		folded == "data" && (strings.Contains(kind, "encrypted") || strings.Contains(kind, "redacted"))
}

func omitLongWord(text string) string {
	if len(text) > maxWord && !strings.ContainsAny(text, " \n") {
		return "(left out)"
	}
	return text
}

// updateTag encloses an instruction that occurs in the middle of the conversation.
const updateTag = "system-update"

// closesUpdate matches what a model could read as the end of the enclosed text.
var closesUpdate = regexp.MustCompile(`(?i)<(\s*/\s*` + updateTag + `)`)

// FormatUpdate formats such an instruction for protocols without a role for it; "" if it has no text. The text is sent
// as written, because models copy escaped code as it stands; only an end tag of the enclosure in it is escaped.
func FormatUpdate(parts []llm.Part) string {
	var lines []string
	for t := range llm.PartsOf[llm.Text](parts) {
		if t.Text != "" {
			lines = append(lines, t.Text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := closesUpdate.ReplaceAllString(strings.Join(lines, "\n"), "&lt;$1")
	return "<" + updateTag + ">\n" + text + "\n</" + updateTag + ">"
}
