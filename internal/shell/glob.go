package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// glob notes what a word is as a pattern for files. Where another word has the same text and may be anything, the text
// says nothing.
func (r *reader) glob(w *syntax.Word, text string) {
	if known(text) {
		return
	}
	pattern, ok := globPattern(w)
	if old, seen := r.out.Globs[text]; !ok || text == Hole || seen && old != pattern {
		pattern = ""
	}
	if r.out.Globs == nil {
		r.out.Globs = map[string]string{}
	}
	r.out.Globs[text] = pattern
}

// globPattern is the word as filepath.Glob reads it, if the shell does nothing but look for files.
func globPattern(w *syntax.Word) (string, bool) {
	if w == nil || braces(w) {
		return "", false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "~[\\") { // sets are not quite the same there
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(escape(p.Value))
		default:
			return "", false
		}
	}
	return b.String(), !strings.Contains(b.String(), "**")
}
