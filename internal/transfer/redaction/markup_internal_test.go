package redaction

import (
	"strings"
	"testing"
)

// TestStripMarkup: quotes, also those that are escaped or of code, and underscores within words are no marks.
func TestStripMarkup(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", `a\_b \*c\* \\ \\- \" \' \n `: `a_b *c* \\ \\- \" \' \n `,
		"**a** *b* ~~c~~ ~d `e`": "a b c ~d e", "_a_ __b__ a_b a__b a_ _b a_**b** _**a**_": "a b a_b a__b a b a_b a", "é_é": "é_é",
		`a\_\_b _`: "a__b ", "****": "", "__": "", `\**a*`: "*a", "\\`a`": "`a",
	} {
		if got := stripMarkup(text, false); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The time of stripMarkup is linear in the length of the text: with a square of it this test would not end.
func TestStripLongMarks(t *testing.T) {
	for _, piece := range []string{"_", "*_", `\_`, "_*", "~~_", "a_", "_`"} {
		text := "a" + strings.Repeat(piece, 4<<20) + "b"
		if plain := stripMarkup(text, false); len(plain) > len(text) || !strings.HasPrefix(plain, "a") || !strings.HasSuffix(plain, "b") {
			t.Errorf("%q", piece)
		}
	}
}

func FuzzStripMarkup(f *testing.F) {
	for _, text := range []string{"a_b **c** `d` ~~e~~", `\_ \* \\ \`, "\\` \\\\` _`_", "x`y_*z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain := stripMarkup(text, false)
		if inTwoSteps := stripCode(stripMarkup(text, true)); inTwoSteps != plain {
			t.Errorf("%q: %q, and in two steps %q", text, plain, inTwoSteps)
		}
		if len(plain) > len(text) || strings.Contains(plain, "*") && !strings.Contains(text, `\`) {
			t.Errorf("%q: %q", text, plain)
		}
	})
}
