package searchindex

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// foldWord returns the word without diacritics and without characters that have no width, in the usual form of its letters:
// full width, half width and ligatures make no difference (NFKC). It is the identity for most words.
func foldWord(word string) string {
	isFolded := true
	for i := 0; i < len(word) && isFolded; {
		if word[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(word[i:])
		isFolded = isPlainLetter(r)
		i += size
	}
	if isFolded {
		return word
	}
	// Take the marks off, and compose what stays: Hangul, and letters with the marks that are part of their script.
	var space, kept [4 * maxWord]byte
	apart := norm.NFKD.AppendString(space[:0], word)
	out := kept[:0]
	for len(apart) > 0 {
		r, size := utf8.DecodeRune(apart)
		if !isDiacritic(r) && !unicode.Is(unicode.Cf, r) {
			out = append(out, apart[:size]...)
		}
		apart = apart[size:]
	}
	return string(norm.NFC.Bytes(out))
}

// isPlainLetter reports whether foldWord leaves a letter as it is: one of the common ones of scripts that have many.
func isPlainLetter(r rune) bool {
	switch {
	case r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3: // Han, Hangul
		return true
	case r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fc: // Hiragana, Katakana
		return true
	case r >= 0x0e00 && r <= 0x0eff: // Thai, Lao: their vowels would come apart
		return true
	case r >= 0x0410 && r <= 0x044f: // Cyrillic without Й and й
		return r != 0x0419 && r != 0x0439
	default:
		return false
	}
}

// isDiacritic reports whether the mark makes no difference to a search. The marks of other scripts are vowels or parts of
// their letters, and those of Katakana and Hiragana make another letter.
func isDiacritic(r rune) bool {
	if r < 0x300 || r == 0x3099 || r == 0x309a || !unicode.Is(unicode.Mn, r) {
		return false
	}
	return unicode.In(r, unicode.Inherited, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Syriac)
}
