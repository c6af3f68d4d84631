package lsp

import (
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The position encodings of LSP: the unit in which columns count. Columns outside of this package are UTF-16, which is
// LSP's default and what OpenCode's clients get.
const (
	utf8Units  = "utf-8"
	utf16Units = "utf-16"
	utf32Units = "utf-32"
)

// Position is a place in a document; both count from 0.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// clamp returns the position with numbers that a document can have: servers send others.
func (p Position) clamp() Position {
	return Position{min(max(p.Line, 0), math.MaxInt32), min(max(p.Character, 0), math.MaxInt32)}
}

// Range is a part of a document; End is after its last character.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// countUnits returns the length of text.
func countUnits(text, encoding string) int {
	switch encoding {
	case utf8Units:
		return len(text)
	case utf32Units:
		return utf8.RuneCountInString(text)
	}
	n := 0
	for _, r := range text {
		n += max(utf16.RuneLen(r), 1) // an invalid byte is one replacement character
	}
	return n
}

// cutUnits returns the beginning of text that has n units, without the character that n divides.
func cutUnits(text string, n int, encoding string) string {
	if n <= 0 {
		return ""
	}
	for i := range text {
		next := i + 1
		for next < len(text) && !utf8.RuneStart(text[next]) {
			next++
		}
		if n -= countUnits(text[i:next], encoding); n < 0 {
			return text[:i]
		}
	}
	return text
}

// lines are the lines of a document, without their ends.
type lines []string

// splitLines ends lines as LSP does: with LF, CRLF or CR.
func splitLines(text string) lines {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}

// end returns the position after the last character.
func (l lines) end(encoding string) Position {
	return Position{len(l) - 1, countUnits(l[len(l)-1], encoding)}
}

// convert returns the position in another encoding. A position outside of the text stays as it is.
func (l lines) convert(p Position, from, to string) Position {
	if from == to || p.Line < 0 || p.Line >= len(l) {
		return p
	}
	p.Character = countUnits(cutUnits(l[p.Line], p.Character, from), to)
	return p
}

func (l lines) convertRange(r Range, from, to string) Range {
	return Range{l.convert(r.Start, from, to), l.convert(r.End, from, to)}
}
