package redact

import (
	"bytes"
	"strings"
)

const (
	digits  = "0123456789"
	hex     = digits + "abcdef"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// maxCommand is the length of the text before a match that is considered.
const maxCommand = 400

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

func hasDigit(text []byte) bool { return bytes.ContainsAny(text, digits) }

// isPlaceholder reports whether a value stands for a secret elsewhere: $NAME, ${name}, <name>, {{name}}, %s, ***,
// your-name.
func isPlaceholder(value []byte) bool {
	if len(value) > 5 && bytes.EqualFold(value[:4], []byte("your")) && strings.IndexByte("-_ ", value[4]) >= 0 {
		return true
	}
	return strings.IndexByte("$<{%", value[0]) >= 0 || bytes.Contains(value, []byte("${")) ||
		len(bytes.Trim(value, "*.xX…_-")) == 0
}
