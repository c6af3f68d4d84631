package searchindex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a run of letters, digits and their marks. Identifiers are several words: fooBar, foo_bar and HTTPServer have
// two each. Scripts that are written without spaces have one word for each character, so that a part of a text is found
// as a phrase. Upper case and diacritics make no difference, which the tokenizer of FTS5 sees to.

// maxWord bounds a word in bytes: of longer ones, such as encoded data, only the beginning counts.
const maxWord = 64

// span is a word's place in a text.
type span struct {
	start, end int
	// first: the word begins a run of letters and digits, of which the words after it are parts.
	first bool
}

// findWords calls yield for each word of the text, until it returns false.
func findWords(text string, yield func(span) bool) {
	word, inWord, before := span{}, false, rune(0)
	for i, r := range text {
		switch {
		case unicode.Is(unicode.M, r): // belongs to the word before it
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			if word.end = i; inWord && !yield(word) {
				return
			}
			inWord = false
			continue
		}
		splits := inWord && (isUnspaced(r) || isUnspaced(before))
		if splits || inWord && splitsCase(before, r, text[i+utf8.RuneLen(r):]) {
			if word.end = i; !yield(word) {
				return
			}
			word = span{start: i, first: splits}
		}
		if !inWord {
			word, inWord = span{start: i, first: true}, true
		}
		before = r
	}
	if word.end = len(text); inWord {
		yield(word)
	}
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
// that have several, as one word each, so that foobar finds fooBar.
func normalize(text string) string {
	var words, joined strings.Builder
	words.Grow(len(text) + len(text)/8)
	run, parts := 0, 0 // beginning in words of the run, and how many words it has
	endRun := func() {
		if parts > 1 {
			joined.WriteByte(' ')
			joined.WriteString(clipWord(strings.ReplaceAll(words.String()[run:], " ", "")))
		}
	}
	findWords(text, func(w span) bool {
		if w.first {
			endRun()
			run, parts = words.Len(), 0
		}
		if words.Len() > 0 {
			words.WriteByte(' ')
		}
		words.WriteString(clipWord(text[w.start:w.end]))
		parts++
		return true
	})
	endRun()
	return words.String() + joined.String()
}
