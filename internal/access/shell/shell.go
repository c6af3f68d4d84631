// Package shell recognises plain command lines: those whose commands and words are known before a shell reads them. It
// is pure: text in, commands out.
//
// A plain line is simple commands, joined by | && || ; and newlines, of literal words, quoted or not, of patterns with
// * and ? that do not begin a word, and of redirections to named files. Everything else is refused with a
// *NotPlainError: expansions, substitutions, assignments, here-documents, keywords, functions, background commands, and
// what shells read in different ways. Nothing is interpreted: an interpreter of bash that disagrees with bash in one
// place lets every command pass there.
package shell

import "path"

// Placeholder stands for a * or ? outside of quotes in the text of a word: a shell may put any text there, also several
// words. A pattern never begins a word or stands in an option, so that no file name becomes an option.
const Placeholder = "\x00"

// IsSupported reports whether the shell with this name or path reads lines as Parse does.
func IsSupported(program string) bool {
	switch path.Base(program) {
	case "bash", "sh", "dash", "ash":
		return true
	}
	return false
}
