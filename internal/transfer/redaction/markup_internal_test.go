package redaction

import (
	"strings"
	"testing"
)

// TestStripMarkup: quotes, also those that are escaped or of code, and underscores within words are no marks.
func TestStripMarkup(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", `a\_b \*c\* \\ \" \' \n \`: `a_b *c* \\ \" \' \n \`, "**a** *b* ~~c~~ ~d `e` \\`": "a b c ~d `e` \\`",
		"_a_ __b__ a_b a__b a_ _b a_**b** _**a**_": "a b a_b a__b a b a_b a", "é_é": "é_é", `a\_\_b _`: "a__b ", "****": "", "__": "",
		`\**a*`: "*a",
	} {
		if got := stripMarkup(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The time of stripMarkup is linear in the length of the text: many times the bytes below would not end within the test's time.
func FuzzStripMarkup(f *testing.F) {
	for _, piece := range []string{"_", "*_", `\_`, "_*", "~~_", "a_"} {
		f.Add("a" + strings.Repeat(piece, 1<<20) + "b")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if plain := stripMarkup(text); len(plain) > len(text) || strings.Contains(plain, "*") && !strings.Contains(text, `\`) {
			t.Errorf("%q: %q", text, plain)
		}
	})
}
