package redaction

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/llm/redact"
)

// mergeMasked replaces every byte of the text that at least one of its masked forms replaces. A form is the text with some
// parts replaced by redact.Mark; if one is not, the result is redact.Mark.
func mergeMasked(text string, forms ...string) string {
	hidden := make([]bool, len(text))
	for _, form := range forms {
		if !markHidden(hidden, text, form) {
			return redact.Mark
		}
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && hidden[end] == hidden[i] {
			end++
		}
		if hidden[i] {
			out.WriteString(redact.Mark)
		} else {
			out.WriteString(text[i:end])
		}
		i = end
	}
	return out.String()
}

// markHidden marks the bytes of the text that its masked form replaces. It takes the first match of each part between two
// marks, which may be one inside a replaced range: the bytes that are shown are still those of the form. It reports false if
// the form is not one of the text.
func markHidden(hidden []bool, text, form string) bool {
	parts := strings.Split(form, redact.Mark)
	at := 0
	for i, part := range parts {
		next := strings.Index(text[at:], part)
		isLast := i == len(parts)-1
		if isLast {
			next = len(text) - len(part) - at
		}
		if next < 0 || i == 0 && next != 0 || !strings.HasPrefix(text[at+next:], part) {
			return false
		}
		for j := range next {
			hidden[at+j] = true
		}
		at += next + len(part)
	}
	return true
}
