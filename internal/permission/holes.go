package permission

import (
	"slices"
	"strings"
)

// hole is shell.Hole as a byte. It stands for unknown text.
const hole = 0

// coversText reports whether pattern matches text whatever its holes stand for: only a * matches a hole.
func coversText(pattern, text string) bool {
	if strings.IndexByte(pattern, hole) >= 0 {
		return false
	}
	if strings.IndexByte(text, hole) < 0 {
		return Match(pattern, text)
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && coversHoles(bare, text) {
		return true
	}
	return coversHoles(pattern, text)
}

// coversHoles is glob for a text with holes: a ? matches one known byte.
func coversHoles(p, s string) bool {
	return walkStates(p, s, func(p string, c byte) (int, bool) {
		if c == hole {
			return 0, false
		}
		return matchElement(p, c)
	}, false)
}

// mayMatch reports whether pattern matches text for some values of its holes. A hole may also be empty,
// together with the blank beside it.
func mayMatch(pattern, text string) bool {
	if strings.IndexByte(text, hole) < 0 {
		return Match(pattern, text)
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && walkStates(bare, text, matchElement, true) {
		return true
	}
	return walkStates(pattern, text, matchElement, true)
}

// walkStates matches s with p by following all possible positions in p at once. With free, a hole in s stands for any
// text; else match decides about it, and a * matches it.
func walkStates(p, s string, match func(p string, c byte) (int, bool), free bool) bool {
	now := make([]bool, len(p)+1)
	now[0] = true
	skipStars(p, now)
	for j := 0; j < len(s); j++ {
		next := make([]bool, len(p)+1)
		c := s[j]
		for i, on := range now {
			switch {
			case !on:
				continue
			case free && c == hole: // any text: every later position is possible
				for k := i; k <= len(p); k++ {
					next[k] = true
				}
				continue
			case free && c == ' ' && (j+1 < len(s) && s[j+1] == hole || j > 0 && s[j-1] == hole):
				next[i] = true // the blank may be absent with the hole
			}
			if i == len(p) {
				continue
			}
			if p[i] == '*' {
				next[i] = true
				continue
			}
			if n, ok := match(p[i:], c); ok {
				next[i+n] = true
			}
		}
		skipStars(p, next)
		if now = next; !slices.Contains(now, true) {
			return false
		}
	}
	return now[len(p)]
}

// skipStars adds the positions behind stars that match nothing.
func skipStars(p string, states []bool) {
	for i := 0; i < len(p); i++ {
		if states[i] && p[i] == '*' {
			states[i+1] = true
		}
	}
}
