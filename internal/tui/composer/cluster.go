package composer

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// firstToken is the rune of the first token. Text from outside has no runes of this plane, which has no meaning.
const firstToken = 0xF0000

// maxCluster bounds the runes that are looked at for one character.
const maxCluster = 32

// clusterEnd returns the end of the character that begins at i: a rune with its combining marks, or several that
// terminals show as one, such as a joined emoji. A token is a character of its own.
func clusterEnd(text []rune, i int) int {
	const firstCombining = 0x300
	next := i + 1
	if next >= len(text) || text[i] < firstCombining && text[next] < firstCombining || text[i] >= firstToken {
		return min(next, len(text))
	}
	cluster, _ := ansi.FirstGraphemeCluster(string(text[i:min(i+maxCluster, len(text))]), ansi.GraphemeWidth)
	return i + max(utf8.RuneCountInString(cluster), 1)
}

// clusterStart returns the start of the character before i.
func clusterStart(text []rune, i int) int {
	at := i
	for at > 0 && (at == i || text[at-1] != '\n') {
		at--
	}
	for end := clusterEnd(text, at); end < i; end = clusterEnd(text, at) {
		at = end
	}
	return at
}
