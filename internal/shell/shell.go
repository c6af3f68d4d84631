// Package shell reads command lines that are plain enough to be read without doubt. It is pure: text in, commands out.
//
// A readable line is simple commands, joined by | && || ; & and newlines, of words with plain quotes, $NAME, * and ?,
// and with redirections to named files. Everything else is refused with an *Unreadable: expansions, substitutions,
// here-documents, keywords, functions, and what shells read in different ways. Nothing is interpreted: an interpreter
// of bash that disagrees with bash in one place lets every command pass there.
package shell

import "path"

// Hole stands in texts for what is not known before the shell runs: any text, also none, also several words.
const Hole = "\x00"

// IsSupported reports whether the shell with this name or path reads lines as Parse does.
func IsSupported(program string) bool {
	switch path.Base(program) {
	case "bash", "sh", "dash", "ash":
		return true
	}
	return false
}
