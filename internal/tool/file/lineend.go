package file

import "strings"

// detectLineEnd returns the line end of the first line.
func detectLineEnd(s string) string {
	if i := strings.IndexByte(s, '\n'); i > 0 && s[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// convertLineEnds gives all lines of s the line end eol.
func convertLineEnds(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if eol == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", eol)
}

// IsSameText reports whether two texts are equal but for their line ends, which editors convert.
func IsSameText(a, b string) bool { return convertLineEnds(a, "\n") == convertLineEnds(b, "\n") }
