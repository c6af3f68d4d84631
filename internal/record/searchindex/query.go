package searchindex

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// Bounds of what is searched for.
const (
	maxTerms     = 32      // terms of one search
	maxQueryText = 4 << 10 // bytes of one search
)

// term is what a search looks for: words that follow one another.
type term struct {
	words    []string
	isPrefix bool // the last word is the beginning of one
	excluded bool
}

// parseTerms reads a search: words, of which a text must have all; "several words" that follow one another; -word for one
// that the text must not have; and word* for a beginning. An identifier or a path is its words, one after another. Nothing
// else has a meaning. A search without a word, or with too many, is a *session.Error.
func parseTerms(text string) (terms []term, err error) {
	if len(text) > maxQueryText {
		return nil, session.Errorf(session.CodeInvalid, "the search has %d bytes; at most %d are possible", len(text), maxQueryText)
	}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		t := term{excluded: strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "--")} // --flag is a word
		if t.excluded {
			rest = rest[1:]
		}
		// Cut the next phrase or word off.
		var next string
		if strings.HasPrefix(rest, `"`) {
			next, rest, _ = strings.Cut(rest[1:], `"`)
		} else {
			at := strings.IndexFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\u3000' })
			if at < 0 {
				at = len(rest)
			}
			next, rest = rest[:at], rest[at:]
		}
		findWords(next, func(w span) bool {
			t.words = append(t.words, readWord(next, w))
			return true
		})
		if n := len(t.words); n > 0 {
			t.isPrefix = strings.HasSuffix(next, "*")
			if t.isPrefix && n == 1 && isShort(t.words[0]) { // it is that of too many words
				return nil, session.Errorf(session.CodeInvalid, "a beginning of a word has two characters or more: %q", next)
			}
			terms = append(terms, t)
		}
	}
	switch {
	case len(terms) > 0 && !slices.ContainsFunc(terms, func(t term) bool { return !t.excluded }):
		return nil, session.Errorf(session.CodeInvalid, "the search only says which words a text must not have: %q; "+
			"name one that it has, or quote a word that begins with -", session.ClipText(text, 100))
	case !slices.ContainsFunc(terms, func(t term) bool { return !t.excluded }):
		return nil, session.Errorf(session.CodeInvalid, "the search has no word to look for: %q", session.ClipText(text, 100))
	case len(terms) > maxTerms:
		return nil, session.Errorf(session.CodeInvalid, "the search has %d words; at most %d are possible", len(terms), maxTerms)
	}
	return terms, nil
}

// isShort reports whether a word has one character only, of a script in which words have several.
func isShort(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return utf8.RuneCountInString(word) < 2 && !isUnspaced(r)
}

// formatMatch returns the terms, and the marks that a text must have, in the language of FTS5.
func formatMatch(terms []term, marks []string) string {
	var wanted, excluded []string
	for _, t := range terms {
		text := `"` + strings.Join(t.words, " ") + `"`
		if t.isPrefix {
			text += " *"
		}
		if t.excluded {
			excluded = append(excluded, text)
		} else {
			wanted = append(wanted, text)
		}
	}
	out := "words : (" + strings.Join(wanted, " AND ") + ")"
	if len(marks) > 0 {
		out = "marks : (" + strings.Join(marks, " AND ") + ") AND " + out
	}
	if len(excluded) > 0 {
		out = "(" + out + ") NOT words : (" + strings.Join(excluded, " OR ") + ")"
	}
	return out
}
