package compaction

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitleFromText(t *testing.T) {
	for _, c := range []struct{ name, prompt, want string }{
		{"short", "Fix the parser", "Fix the parser"},
		{"first line that says something", "\n \t\n  Fix   the\tparser \r\nand the lexer", "Fix the parser"},
		{"cut between words", strings.Repeat("word ", 20), strings.TrimSpace(strings.Repeat("word ", 11)) + "…"},
		{"sixty fit", strings.Repeat("a", 60), strings.Repeat("a", 60)},
		{"sixty words fit exactly", strings.Repeat("abc ", 14) + "abcd", strings.Repeat("abc ", 14) + "abcd"},
		{"one long word", strings.Repeat("ä", 100), strings.Repeat("ä", 59) + "…"},
		{"controls", "\x1b[31mred\x07\u202e\x00 text", "[31mred text"},
		{"controls only", "\x00\x01\u200b", ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := TitleFromText(c.prompt)
			if got != c.want || utf8.RuneCountInString(got) > maxPromptTitle {
				t.Errorf("%q", got)
			}
		})
	}
}
