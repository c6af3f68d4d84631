package terminal

import (
	"regexp"
	"strings"
	"unicode"
)

// controlSequence matches the sequences that set colours and move the cursor.
var controlSequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// CleanOutput returns the output of a command without colours and, of a line that was written over, as progress bars
// are, only the last version. Other control characters stay, for ReplaceControls: what they hide on a
// terminal must be visible.
func CleanOutput(text string) string {
	if !strings.ContainsAny(text, "\r\x1b") {
		return text
	}
	lines := strings.Split(controlSequence.ReplaceAllString(text, ""), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// ReplaceControls replaces what a terminal would interpret or what changes how text reads: control characters other
// than newline and tab, and marks that change the direction of text. The carriage return of a line's end is removed.
func ReplaceControls(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !isDirectionMark(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

func isDirectionMark(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// FirstLine returns the first line of text, without control characters and at most n characters long. An ellipsis
// marks what is cut.
func FirstLine(text string, n int) string {
	text = strings.TrimSpace(text)
	more := false
	if head, _, cut := strings.Cut(text, "\n"); cut {
		text, more = strings.TrimRight(head, " \r"), true
	}
	text = strings.ReplaceAll(ReplaceControls(text), "\t", " ")
	if r := []rune(text); len(r) > n {
		text, more = string(r[:n-1]), true
	}
	if more {
		text += "…"
	}
	return text
}
