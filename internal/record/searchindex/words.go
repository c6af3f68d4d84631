package searchindex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a run of letters, digits and their marks. Identifiers are several words: fooBar, foo_bar and HTTPServer have
// two each, and so have utf8 and iPhone15 at their numbers. Scripts that are written without spaces have one word for each
// character, so that a part of a text is found as a phrase. Upper case, diacritics and widths make no difference: foldWord
// sees to the last two, in texts, searches and snippets alike, and the tokenizer of FTS5 to the case.

// maxWord bounds a word in bytes: of longer ones, such as encoded data, only the beginning counts.
const maxWord = 64

// span is a word's place in a text.
type span struct {
	start, end int
	first      bool // the word begins a run of letters or of digits, of which the words after it are parts
	glued      bool // the run follows another one without a character between them
}

// findWords calls yield for each word of the text, until it returns false. Marks and characters without a width belong to
// the word before them.
func findWords(text string, yield func(span) bool) {
	word, inWord, before := span{}, false, rune(0)
	letters := 0 // since the last digit or other character
	for i, r := range text {
		switch {
		case r >= utf8.RuneSelf && isWithoutWidth(r):
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			if word.end = i; inWord && !yield(word) {
				return
			}
			inWord, letters = false, 0
			continue
		}
		isDigit := unicode.IsDigit(r)
		splits := inWord && (isUnspaced(r) || isUnspaced(before))
		glued := inWord && !splits && splitsNumber(before, isDigit, letters, text[i:])
		if splits || glued || inWord && splitsCase(before, r, text[i+utf8.RuneLen(r):]) {
			if word.end = i; !yield(word) {
				return
			}
			word = span{start: i, first: splits || glued, glued: glued}
		}
		if !inWord {
			word, inWord = span{start: i, first: true}, true
		}
		if letters++; isDigit {
			letters = 0
		}
		before = r
	}
	if word.end = len(text); inWord {
		yield(word)
	}
}

// isWithoutWidth reports whether the character is no part of a word of its own: a mark, also the half-width ones of Katakana,
// or one that is not seen, such as a soft hyphen or a zero width space.
func isWithoutWidth(r rune) bool {
	return unicode.Is(unicode.M, r) || unicode.Is(unicode.Cf, r) || r == '\uff9e' || r == '\uff9f'
}

// splitsNumber reports whether a word begins with the first character of rest: a digit after letters, or a letter after
// digits. A single letter stays with its number, as in v2 and x86: most of these are in hashes.
func splitsNumber(before rune, isDigit bool, letters int, rest string) bool {
	if unicode.IsDigit(before) == isDigit {
		return false
	}
	if isDigit {
		return letters > 1
	}
	_, size := utf8.DecodeRuneInString(rest)
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return unicode.IsLetter(next)
}

// splitsCase reports whether a word of an identifier begins with r: an upper case letter after a lower case one, or the
// last one of several that a lower case letter follows.
func splitsCase(before, r rune, rest string) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsUpper(before) && unicode.IsLetter(before) || unicode.IsUpper(before) && unicode.IsLower(next)
}

// isUnspaced reports whether the script of the letter is written without spaces, or, as Hangul, with endings that a search
// leaves out.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// readWord returns a word of the text as the index, searches and snippets compare it but for the case.
func readWord(text string, w span) string { return clipWord(foldWord(text[w.start:w.end])) }

// clipWord cuts a word at maxWord.
func clipWord(word string) string {
	if len(word) <= maxWord {
		return word
	}
	cut := maxWord
	for !utf8.RuneStart(word[cut]) {
		cut--
	}
	return word[:cut]
}

// normalize returns the words of the text as the index takes them: separated by spaces, and behind them the identifiers
// that have several, as one word each, so that foobar finds fooBar. Of iPhone15 these are iPhone and 15.
func normalize(text string) string {
	var words, joined strings.Builder
	words.Grow(len(text) + len(text)/8)
	// The runs of the identifier that is read: their places in words, and whether one of them has several words.
	var runs [][2]int
	hasParts := false
	endIdentifier := func() {
		for i := 0; hasParts && i < len(runs); i++ {
			joined.WriteByte(' ')
			joined.WriteString(clipWord(strings.ReplaceAll(words.String()[runs[i][0]:runs[i][1]], " ", "")))
		}
		runs, hasParts = runs[:0], false
	}
	findWords(text, func(w span) bool {
		if w.first && !w.glued {
			endIdentifier()
		}
		if words.Len() > 0 {
			words.WriteByte(' ')
		}
		start := words.Len()
		words.WriteString(readWord(text, w))
		if w.first {
			runs = append(runs, [2]int{start, words.Len()})
		} else {
			runs[len(runs)-1][1], hasParts = words.Len(), true
		}
		return true
	})
	endIdentifier()
	return words.String() + joined.String()
}
