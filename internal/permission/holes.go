package permission

import (
	"slices"
	"strings"
)

// hole is shell.Hole as the byte that it is.
const hole = 0

// covers reports that the text matches whatever its holes become: only a * takes a hole in.
func covers(pattern, text string) bool {
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

// coversHoles is glob for texts with holes: a ? is one byte that is known.
func coversHoles(p, s string) bool {
	return walkStates(p, s, func(p string, c byte) (int, bool) {
		if c == hole {
			return 0, false
		}
		return one(p, c)
	}, false)
}

// mayMatch reports that the text matches for something that its holes may become. A hole may also be no word at all, so
// that the blank beside it goes too.
func mayMatch(pattern, text string) bool {
	if strings.IndexByte(text, hole) < 0 {
		return Match(pattern, text)
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && walkStates(bare, text, one, true) {
		return true
	}
	return walkStates(pattern, text, one, true)
}

// walkStates matches s with p by following all positions in p that are possible at once. If free, a hole in s stands
// for any text; else it is a byte like any other, which match decides about and which stars take in.
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
			case free && c == hole: // any text: every later position
				for k := i; k <= len(p); k++ {
					next[k] = true
				}
				continue
			case free && c == ' ' && (j+1 < len(s) && s[j+1] == hole || j > 0 && s[j-1] == hole):
				next[i] = true // the blank may be gone with the hole
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
