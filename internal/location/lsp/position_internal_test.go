package lsp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConvertPositions(t *testing.T) {
	t.Parallel()
	const line = "aé😀z" // 1 + 2 + 4 + 1 bytes, 1 + 1 + 2 + 1 units of UTF-16, 4 characters
	content := splitLines("first\r\n" + line + "\rlast")
	for _, test := range []struct{ utf8, utf16, utf32 int }{{0, 0, 0}, {1, 1, 1}, {3, 2, 2}, {7, 4, 3}, {8, 5, 4}} {
		columns := map[string]int{utf8Units: test.utf8, utf16Units: test.utf16, utf32Units: test.utf32}
		for from, n := range columns {
			for to, want := range columns {
				if got := content.convert(Position{1, n}, from, to); got != (Position{1, want}) {
					t.Errorf("%d in %s: got %d in %s, want %d", n, from, got.Character, to, want)
				}
			}
		}
	}
	for _, test := range []struct {
		name string
		in   Position
		from string
		want Position
	}{
		{"within a surrogate pair", Position{1, 3}, utf16Units, Position{1, 3}},
		{"within a character", Position{1, 5}, utf8Units, Position{1, 3}},
		{"after the line", Position{1, 100}, utf8Units, Position{1, 8}},
		{"before the line", Position{1, -1}, utf8Units, Position{1, 0}},
		{"after the text", Position{9, 3}, utf16Units, Position{9, 3}},
		{"before the text", Position{-1, 3}, utf16Units, Position{-1, 3}},
	} {
		to := utf8Units
		if test.from == utf8Units {
			to = utf16Units
		}
		if test.name == "after the line" {
			test.want.Character = 5
		}
		if test.name == "within a character" {
			test.want.Character = 2
		}
		if got := content.convert(test.in, test.from, to); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	if diff := cmp.Diff(Position{2, 4}, content.end(utf16Units)); diff != "" {
		t.Error(diff)
	}
}

func FuzzConvertPositions(f *testing.F) {
	f.Add("aé😀z\nb", 0, 3)
	f.Add("\xff\xf0\x9f", 0, 1)
	f.Fuzz(func(t *testing.T, text string, line, column int) {
		content := splitLines(strings.ToValidUTF8(text, "\uFFFD"))
		at := content.convert(Position{line, column}, utf32Units, utf16Units)
		for _, between := range []string{utf8Units, utf32Units} {
			there := content.convert(at, utf16Units, between)
			if back := content.convert(there, between, utf16Units); back != at {
				t.Errorf("%v in %q becomes %v in %s and %v again", at, text, there, between, back)
			}
		}
	})
}
