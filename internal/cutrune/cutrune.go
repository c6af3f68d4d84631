// Package cutrune finds characters of UTF-8 that the end of a piece of a stream cuts in two.
package cutrune

import "unicode/utf8"

// SuffixLen returns how many bytes at the end of a text are the beginning of a character, at most 3. Bytes that are not
// valid UTF-8 are not.
func SuffixLen[T string | []byte](text T) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		tail := []byte(text[len(text)-n:])
		switch {
		case !utf8.RuneStart(tail[0]):
			continue
		case utf8.FullRune(tail):
			return 0
		}
		return n
	}
	return 0
}
