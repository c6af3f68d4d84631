package compaction

import (
	"strings"
	"unicode"
)

// maxLength is the limit of a title from a prompt, in characters.
const maxLength = 60

// TitleFromText returns the first line with text, cut between words where it is long. A word that is too long by itself
// is cut anywhere.
func TitleFromText(prompt string) string {
	title := firstLine(prompt)
	if len(title) <= maxLength {
		return string(title)
	}
	title = title[:maxLength]
	if space := strings.LastIndex(string(title[:maxLength-1]), " "); space > 0 {
		return string(title)[:space] + "…"
	}
	title[maxLength-1] = '…'
	return string(title)
}

// firstLine returns the first line with text, with printable characters only.
func firstLine(text string) []rune {
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case unicode.IsGraphic(r):
				return r
			default: // control characters, and marks that change the direction of text
				return -1
			}
		}, line)
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return []rune(line)
		}
	}
	return nil
}
