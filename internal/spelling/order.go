package spelling

import (
	"cmp"
	"strings"
	"unicode"
)

// marks are the signs of ASCII in the order in which people's lists have them: before the digits, and those before the
// letters.
const marks = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// bare are the letters with accents that stand where the letter without stands, by that letter.
var bare = func() map[rune]rune {
	m := map[rune]rune{}
	for letter, accented := range map[rune]string{
		'a': "àáâãäåāăą", 'c': "çćĉċč", 'd': "ďđ", 'e': "èéêëēĕėęě", 'g': "ĝğġģ", 'i': "ìíîïĩīĭį", 'l': "ĺļľł", 'n': "ñńņň",
		'o': "òóôõöøōŏő", 'r': "ŕŗř", 's': "śŝşš", 't': "ţťŧ", 'u': "ùúûüũūŭůűų", 'y': "ýÿ", 'z': "źżž",
	} {
		for _, r := range accented {
			m[r] = letter
		}
	}
	return m
}()

// Order compares names as lists for people sort them, OpenCode's among them: signs, then digits, then letters. Accents
// and case count only if nothing else differs; small letters come first then.
func Order(a, b string) int {
	return cmp.Or(
		compareBy(a, b, func(r rune) int { return rankRune(stripAccent(unicode.ToLower(r))) }),
		compareBy(a, b, func(r rune) int { return rankRune(unicode.ToLower(r)) }),
		-strings.Compare(a, b),
	)
}

func compareBy(a, b string, weight func(rune) int) int {
	x, y := []rune(a), []rune(b)
	for i := range min(len(x), len(y)) {
		if d := weight(x[i]) - weight(y[i]); d != 0 {
			return d
		}
	}
	return len(x) - len(y)
}

func stripAccent(r rune) rune {
	if plain, ok := bare[r]; ok {
		return plain
	}
	return r
}

func rankRune(r rune) int {
	if i := strings.IndexRune(marks, r); i >= 0 {
		return i - len(marks)
	}
	return int(r)
}
