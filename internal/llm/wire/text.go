package wire

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Joiner converts the pieces of one text to pieces of valid UTF-8. It holds back a character that is split between two
// pieces, as bytes or as an escaped surrogate pair, until it is complete. A character that never completes becomes
// U+FFFD.
type Joiner struct{ held []byte }

// Next returns the text that is complete after the JSON string raw.
func (j *Joiner) Next(raw jsontext.Value) string {
	piece := unescape(raw)
	if len(j.held) == 0 && utf8.Valid(piece) {
		return string(piece)
	}
	piece = append(j.held, piece...)
	out, rest := repairUTF8(piece)
	j.held = bytes.Clone(rest)
	return string(out)
}

// Flush returns the text that is still held back, repaired.
func (j *Joiner) Flush() string {
	if len(j.held) == 0 {
		return ""
	}
	j.held = nil
	return string(utf8.RuneError)
}

// unescape returns the bytes of a JSON string. An unpaired surrogate becomes the three bytes of its UTF-8 encoding as
// if it were a character; repairUTF8 joins or replaces them.
func unescape(raw jsontext.Value) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	// Most strings have no escapes and are returned as they are.
	s := []byte(raw[1 : len(raw)-1])
	i := bytes.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	// Copy up to each escape, and decode it.
	out := make([]byte, 0, len(s))
	for i >= 0 && i+1 < len(s) {
		out = append(out, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		if c == 'u' && len(s) >= 4 {
			var r rune
			r, s = escapedRune(s)
			out = appendRune(out, r)
		} else {
			out = append(out, plainEscape(c))
		}
		i = bytes.IndexByte(s, '\\')
	}
	return append(out, s...)
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

// escapedRune reads four hex digits and, if they are the first half of a pair, the second half.
func escapedRune(s []byte) (rune, []byte) {
	r := hex4(s)
	if utf16.IsSurrogate(r) && len(s) >= 10 && s[4] == '\\' && s[5] == 'u' {
		if both := utf16.DecodeRune(r, hex4(s[6:])); both != utf8.RuneError {
			return both, s[10:]
		}
	}
	return r, s[4:]
}

func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c&15)
	}
	return r
}

func appendRune(out []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0xbf, 0x80|byte(r)&0xbf)
	}
	return utf8.AppendRune(out, r)
}

// repairUTF8 returns b as valid UTF-8, and the end of b that the next piece may complete.
// It repairs two faults of providers: characters that are cut at the border of two pieces, and surrogates that are
// encoded one by one. Anything else that is invalid becomes U+FFFD.
func repairUTF8(b []byte) (out, rest []byte) {
	for len(b) > 0 {
		// A valid character, U+FFFD itself among them, which is three bytes long.
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size > 1 {
			out = append(out, b[:size]...)
			b = b[size:]
			continue
		}
		// A surrogate in three bytes: join it with the second half behind it; wait if that may still come.
		if half, ok := decodeSurrogate(b); ok && utf16.IsSurrogate(half) {
			second, whole := decodeSurrogate(b[3:])
			if both := utf16.DecodeRune(half, second); whole && both != utf8.RuneError {
				out = utf8.AppendRune(out, both)
				b = b[6:]
				continue
			}
			if half < 0xdc00 && couldBeSurrogate(b[3:]) {
				return out, b
			}
			out = utf8.AppendRune(out, utf8.RuneError)
			b = b[3:]
			continue
		}
		// The beginning of a character or of a surrogate: wait for the rest. Everything else is replaced byte by
		// byte.
		if !utf8.FullRune(b) || couldBeSurrogate(b) {
			return out, b
		}
		out = utf8.AppendRune(out, utf8.RuneError)
		b = b[1:]
	}
	return out, nil
}

// decodeSurrogate decodes the three bytes of an unpaired surrogate at the start of b.
func decodeSurrogate(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), true
}

// couldBeSurrogate reports whether b is the incomplete beginning of a surrogate's bytes.
func couldBeSurrogate(b []byte) bool {
	return len(b) == 0 || len(b) < 3 && b[0] == 0xed && (len(b) == 1 || b[1] >= 0xa0 && b[1] <= 0xbf)
}

// Clip returns at most n characters of valid UTF-8.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
