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

// maxRoots bounds the "**/" of a pattern that may stand for nothing.
const maxRoots = 4

// MatchPath is Match for paths: a "**/" at the start of a name also matches nothing, as in .gitignore, so that
// "**/.env" covers ".env".
func MatchPath(pattern, path string) bool { return matchRoots(pattern, path, 0, maxRoots) }

// matchRoots matches the pattern as it is, and without each "**/" from the byte on.
func matchRoots(pattern, path string, from, left int) bool {
	if Match(pattern, path) {
		return true
	}
	for i := from; left > 0 && i < len(pattern); i++ {
		if strings.HasPrefix(pattern[i:], "**/") && (i == 0 || pattern[i-1] == '/') {
			if matchRoots(pattern[:i]+pattern[i+3:], path, i, left-1) {
				return true
			}
		}
	}
	return false
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
