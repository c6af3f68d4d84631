package permission

import "strings"

// Match reports whether text matches the wildcard pattern: * matches any bytes, also none, slashes and newlines; ?
// matches one byte other than NUL, which stands for unknown text; \* \? and \\ match the characters themselves; a
// trailing " *" also matches nothing, so that "git status *" covers "git status". Everything else is literal. It takes
// time proportional to len(pattern)*len(text) at worst.
func Match(pattern, text string) bool {
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && matchGlob(bare, text) {
		return true
	}
	return matchGlob(pattern, text)
}

// MatchPath is Match for paths: a "**/" at the start of a name also matches nothing, as in .gitignore, so that
// "**/.env" covers ".env".
func MatchPath(pattern, path string) bool {
	if Match(pattern, path) {
		return true
	}
	if !strings.Contains(pattern, "**/") {
		return false
	}
	if bare, ok := strings.CutSuffix(pattern, " *"); ok && matchRoots(bare, path) {
		return true
	}
	return matchRoots(pattern, path)
}

// matchRoots matches s with p, in which each "**/" at the start of a name also matches nothing. It follows all
// positions in p at once, one byte of s after another, so that its time is len(p)*len(s) however many "**/" there are.
func matchRoots(p, s string) bool {
	at, next := make([]bool, len(p)+1), make([]bool, len(p)+1) // the positions in p up to which s[:j] matches
	at[0] = true
	skipStars(p, at)
	for j := range len(s) {
		clear(next)
		for i := range len(p) {
			if !at[i] {
				continue
			}
			n, ok := matchElement(p[i:], s[j])
			switch {
			case isRoot(p, i):
				next[i+1] = true // its second * stays; the first stands for nothing only where the name starts
			case p[i] == '*':
				next[i] = true
			case ok:
				next[i+n] = true
			}
		}
		skipStars(p, next)
		at, next = next, at
	}
	return at[len(p)]
}

// skipStars adds the positions behind what may match nothing: a *, and a "**/" at the start of a name.
func skipStars(p string, at []bool) {
	for i := range len(p) {
		if at[i] && p[i] == '*' {
			at[i+1] = true
			if isRoot(p, i) {
				at[i+3] = true
			}
		}
	}
}

// isRoot reports whether p has a "**/" at i, at the start of a name.
func isRoot(p string, i int) bool {
	return strings.HasPrefix(p[i:], "**/") && (i == 0 || p[i-1] == '/')
}

// Escape returns the pattern that matches exactly s, so that an approval covers only what was approved.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`).Replace(s)
}

func matchGlob(p, s string) bool {
	star, mark := -1, 0 // position of the last * in p, and the position in s up to which it matches
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) {
			if p[i] == '*' {
				star, mark = i, j
				i++
				continue
			}
			if n, ok := matchElement(p[i:], s[j]); ok {
				i += n
				j++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// matchElement matches the first element of p with c and returns its length.
func matchElement(p string, c byte) (int, bool) {
	switch {
	case p[0] == '?':
		return 1, c != 0
	case p[0] == '\\' && len(p) > 1 && strings.IndexByte(`*?\`, p[1]) >= 0:
		return 2, p[1] == c
	default:
		return 1, p[0] == c
	}
}
