package searchindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Snippet is the part of a text that shows why it was found, as one line.
type Snippet struct {
	Text    string   `json:"text"`
	Matches [][2]int `json:"matches"` // bytes of Text, from and to
}

// snippetBytes is about how long a snippet is.
const snippetBytes = 200

// cutSnippet returns the part of the text with the most terms.
func cutSnippet(text string, terms []term) Snippet {
	matches := findMatches(text, terms)
	// Choose the match from which on the most different terms follow within the length.
	best, most := 0, 0
	for i, first := range matches {
		seen := map[int]bool{}
		for _, m := range matches[i:] {
			if m.end-first.start > snippetBytes {
				break
			}
			seen[m.term] = true
		}
		if len(seen) > most {
			best, most = i, len(seen)
		}
	}
	start := 0
	if len(matches) > 0 {
		start = beginBefore(text, matches[best].start)
	}
	end := endWithin(text, start)
	// Write it as one line, with the places of the matches.
	var out strings.Builder
	s := Snippet{Matches: [][2]int{}}
	if start > 0 {
		out.WriteString("…")
	}
	for i, r := range text[start:end] {
		at := start + i
		for _, m := range matches {
			if m.start == at {
				s.Matches = append(s.Matches, [2]int{out.Len(), out.Len()})
			}
			if m.end == at && len(s.Matches) > 0 {
				s.Matches[len(s.Matches)-1][1] = out.Len()
			}
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			r = ' '
		}
		out.WriteRune(r)
	}
	if n := len(s.Matches); n > 0 && s.Matches[n-1][1] == s.Matches[n-1][0] {
		s.Matches[n-1][1] = out.Len()
	}
	if end < len(text) {
		out.WriteString("…")
	}
	s.Text = out.String()
	return s
}

// match is a place in a text at which a term's word is.
type match struct {
	start, end int
	term       int
}

// maxMatches bounds the matches that are looked at for a snippet.
const maxMatches = 200

// findMatches returns the words of a text that the terms name, and the identifiers that are one of them as a whole.
func findMatches(text string, terms []term) (out []match) {
	run, words := span{}, 0 // the words that are parts of one identifier
	endRun := func() {
		if words > 1 {
			out = appendMatch(out, text, run, terms)
		}
	}
	findWords(text, func(w span) bool {
		if w.first {
			endRun()
			run, words = w, 0
		}
		run.end = w.end
		words++
		out = appendMatch(out, text, w, terms)
		return len(out) < maxMatches
	})
	endRun()
	slices.SortStableFunc(out, func(a, b match) int { return a.start - b.start })
	// An identifier and its words are one match.
	last := -1
	return slices.DeleteFunc(out, func(m match) bool {
		isWithin := m.start < last
		last = max(last, m.end)
		return isWithin
	})
}

func appendMatch(out []match, text string, w span, terms []term) []match {
	word := readWord(text, w)
	for i, t := range terms {
		for j, wanted := range t.words {
			isPrefix := t.isPrefix && j == len(t.words)-1 && len(word) >= len(wanted) && strings.EqualFold(word[:len(wanted)], wanted)
			if !t.excluded && (isPrefix || strings.EqualFold(word, wanted)) {
				return append(out, match{w.start, w.end, i})
			}
		}
	}
	return out
}

// beginBefore returns where a snippet begins that shows the text at a place, after a space where there is one.
func beginBefore(text string, at int) int {
	start := max(at-snippetBytes/4, 0)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	if i := strings.IndexFunc(text[start:at], unicode.IsSpace); start > 0 && i >= 0 {
		_, size := utf8.DecodeRuneInString(text[start+i:])
		start += i + size
	}
	return start
}

func endWithin(text string, start int) int {
	end := min(start+snippetBytes, len(text))
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
