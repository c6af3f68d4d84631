package redact

import (
	"bytes"
	"strings"
)

// cut is a part of a text that is replaced by Mark.
type cut struct{ from, to int }

// maskCuts replaces the cuts, which are in order and do not overlap.
func maskCuts(text []byte, cuts []cut) []byte {
	if len(cuts) == 0 {
		return text
	}
	out, at := make([]byte, 0, len(text)), 0
	for _, c := range cuts {
		out = append(append(out, text[at:c.from]...), Mark...)
		at = c.to
	}
	return append(out, text[at:]...)
}

// runLength returns how many letters, digits and extra characters the text begins with.
func runLength(text []byte, extra string) int {
	for i, c := range text {
		if !isAlphanumeric(c) && strings.IndexByte(extra, c) < 0 {
			return i
		}
	}
	return len(text)
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isWordByte(c byte) bool { return isAlphanumeric(c) || c == '_' || c == '-' }

// followsEscape reports whether the letter before i belongs to an escaped line break or tab.
func followsEscape(text []byte, i int) bool {
	return i > 1 && text[i-2] == '\\' && strings.IndexByte("nrt", text[i-1]) >= 0
}

// isPlaceholder reports whether a value stands for a secret elsewhere: $NAME, ${name}, <name>, {{name}}, %s, ***.
func isPlaceholder(value []byte) bool {
	return strings.IndexByte("$<{%", value[0]) >= 0 || bytes.Contains(value, []byte("${")) ||
		len(bytes.Trim(value, "*.xX…_-")) == 0
}
