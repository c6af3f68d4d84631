package shell

import "strings"

// recogniser reads a text from left to right.
type recogniser struct {
	text string
	at   int
}

func (r *recogniser) refuseAt(offset int, what, advice string) error {
	return &NotPlainError{What: what, Advice: advice, Offset: offset}
}

// peekByte returns the byte n bytes ahead, 0 behind the end.
func (r *recogniser) peekByte(n int) byte {
	if r.at+n < len(r.text) {
		return r.text[r.at+n]
	}
	return 0
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
