package redaction

import "strings"

// stripMarkup returns the text without the marks of Markdown that its readers do not see: the backslash before punctuation, and
// the marks of emphasis and code. It keeps the backslash before quotes and backslashes, which is that of JSON and of programs
// more often, and underscores within a word, which are part of it. With keepCode it keeps the marks of code, which are quotes
// in a shell and in prose; stripCode removes them.
func stripMarkup(text string, keepCode bool) string {
	var plain []byte // once a mark was found
	kept := 0        // text before it is in plain, or is a mark
	before := byte(' ')
	for i := 0; ; {
		next := strings.IndexAny(text[i:], "\\*`~_")
		if next < 0 {
			break
		}
		if i += next; next > 0 {
			before = text[i-1]
		}
		n, isMark := readMark(text[i:], before, keepCode)
		if isMark {
			plain = append(plain, text[kept:i]...)
			kept = i + n
		}
		if i += n; isMark && text[i-1] == '\\' { // what it escapes is no mark
			i++
		}
	}
	if kept == 0 {
		return text
	}
	return string(append(plain, text[kept:]...))
}

// stripCode removes the marks that stripMarkup keeps with keepCode.
var stripCode = strings.NewReplacer(`\\`, `\\`, "\\`", "`", "`", "").Replace

// readMark returns the length of what may be a mark at the beginning of the text, and whether it is one. before is the byte
// before it, and before the marks that precede it.
func readMark(text string, before byte, keepCode bool) (n int, isMark bool) {
	switch text[0] {
	case '*':
		return 1, true
	case '`':
		return 1, !keepCode
	case '~':
		if strings.HasPrefix(text, "~~") {
			return 2, true
		}
	case '\\':
		if strings.HasPrefix(text, `\\`) || keepCode && strings.HasPrefix(text, "\\`") {
			return 2, false
		}
		return 1, len(text) > 1 && isEscapable(text[1])
	case '_':
		// A run of underscores is part of a word between letters, also if other marks follow it.
		rest := strings.TrimLeft(text, "_")
		after := strings.TrimLeft(rest, "*`\\~")
		isInWord := isLetterOrDigit(before) && after != "" && isLetterOrDigit(after[0])
		return len(text) - len(rest), !isInWord
	}
	return 1, false
}

// isEscapable reports whether a backslash before c is a mark (CommonMark 0.31, section 2.4).
func isEscapable(c byte) bool {
	return c > ' ' && c < 0x7f && !isLetterOrDigit(c) && c != '"' && c != '\''
}

func isLetterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}
