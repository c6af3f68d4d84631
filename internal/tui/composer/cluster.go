package composer

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxCluster bounds the runes that are looked at for one character.
const maxCluster = 32

// clusterEnd returns the end of the character that begins at i: a rune with its combining marks, or several that
// terminals show as one, such as a joined emoji.
func (e *Editor) clusterEnd(i int) int {
	const firstCombining = 0x300
	next := i + 1
	if next >= len(e.runes) || e.runes[i] < firstCombining && e.runes[next] < firstCombining {
		return min(next, len(e.runes))
	}
	if _, ok := e.findToken(e.runes[i]); ok {
		return next
	}
	text := string(e.runes[i:min(i+maxCluster, len(e.runes))])
	cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return i + max(utf8.RuneCountInString(cluster), 1)
}

// clusterStart returns the start of the character before i.
func (e *Editor) clusterStart(i int) int {
	if i == 0 || e.runes[i-1] == '\n' {
		return max(i-1, 0)
	}
	at := i
	for at > 0 && e.runes[at-1] != '\n' {
		at--
	}
	for end := e.clusterEnd(at); end < i; end = e.clusterEnd(at) {
		at = end
	}
	return at
}
