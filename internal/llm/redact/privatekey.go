package redact

import (
	"bytes"
	"strings"
)

// maxKeyBlock is the largest distance between the lines that begin and end a private key.
const maxKeyBlock = 32 << 10

// maskPrivateKeys removes private keys in PEM, also those whose end was cut off.
func maskPrivateKeys(text []byte) []byte {
	var cuts []cut
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("-----BEGIN "))
		if i < 0 {
			return maskCuts(text, cuts)
		}
		start := at + i
		label := text[start+len("-----BEGIN ") : min(len(text), start+64)]
		n := bytes.Index(label, []byte("-----"))
		at = start + len("-----BEGIN ")
		if n < 0 || !bytes.Contains(label[:n], []byte("PRIVATE KEY")) {
			continue
		}
		body := at + n + len("-----")
		end := body + endOfKeyLines(text[body:])
		window := text[body:min(len(text), body+maxKeyBlock)]
		if j := bytes.Index(window, []byte("-----END ")); j >= 0 && endOfKeyLines(window[:j]) > 0 {
			end = max(end, body+j)
		}
		if end > body {
			cuts = append(cuts, cut{body, end})
			at = end
		}
	}
}

// keyHeaders are the words of the headers of an encrypted key.
const keyHeaders = "Proc Type ENCRYPTED DEK Info AES CBC DES EDE3"

// endOfKeyLines returns the end of the last line of base64 of a private key, or 0 without such a line. Line
// numbers, quotes, escapes and the headers of an encrypted key may stand between the lines.
func endOfKeyLines(text []byte) (end int) {
	const line = 20
	for i := 0; i < len(text); {
		if !isAlphanumeric(text[i]) && text[i] != '+' && text[i] != '/' {
			i++
			continue
		}
		n := runLength(text[i:], "+/=")
		word := string(text[i : i+n])
		switch {
		case n >= line:
			end = i + n
		case end > 0 && strings.HasSuffix(word, "="): // the last line
			return i + n
		case strings.Trim(word, "0123456789+nrt") != "" && !strings.Contains(keyHeaders, word):
			return end
		}
		i += n
	}
	return end
}
